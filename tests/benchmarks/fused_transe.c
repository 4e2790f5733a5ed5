/* TransE-L1 as one fused loop: a yardstick for what one core can do.
 *
 * Reads int32 triples (head, relation, tail) from a file. For every triple in a fresh random order
 * it draws a head or a tail that makes no known triple (open-addressing table of packed triples),
 * scores both, and if the margin of 1 is violated takes the SGD step at once. Places in the table
 * and rows are asked for some pairs before they are needed. The first epoch is for warming up.
 * Prints pairs a second, median over the other epochs, and their mean share of violated margins.
 *
 * fused_transe FILE TRIPLES ENTITIES RELATIONS EPOCHS RATE
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define D 100
#define EMPTY UINT64_MAX
#define LOOK 64 /* pairs from a draw to its look-up */
#define AHEAD 4 /* and from there to the step */

static uint64_t state = 88172645463325252ULL;

static inline uint64_t next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static inline uint64_t below(uint64_t n) { return ((next() >> 32) * n) >> 32; }

static inline uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

static uint64_t *table_, mask;

static inline uint64_t pack(uint64_t h, uint64_t r, uint64_t t) { return h << 40 | r << 24 | t; }

static int known(uint64_t key) {
    for (uint64_t slot = mix(key) & mask; table_[slot] != EMPTY; slot = (slot + 1) & mask)
        if (table_[slot] == key) return 1;
    return 0;
}

static void insert(uint64_t key) {
    uint64_t slot = mix(key) & mask;
    while (table_[slot] != EMPTY && table_[slot] != key) slot = (slot + 1) & mask;
    table_[slot] = key;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

static float *vectors(long rows) {
    float *table = aligned_alloc(64, (rows * D * sizeof(float) + 63) / 64 * 64);
    float bound = sqrtf(6.0f / (rows + D));
    for (long i = 0; i < rows * D; i++)
        table[i] = bound * (2.0f * (next() >> 40) / (1 << 24) - 1.0f);
    return table;
}

/* Returns whether the margin was violated. */
static int step(float *restrict kept, float *restrict r, float *restrict a, float *restrict b,
                float turn, float rate) {
    float up[D], down[D], right = 0, wrong = 0; /* kept: faster than computing them again */
    for (int i = 0; i < D; i++) {
        float base = kept[i] + turn * r[i];
        up[i] = base - a[i];
        down[i] = base - b[i];
        right += fabsf(up[i]);
        wrong += fabsf(down[i]);
    }
    if (1.0f + right - wrong <= 0) return 0;
    for (int i = 0; i < D; i++) {
        float to_a = up[i] > 0 ? rate : up[i] < 0 ? -rate : 0;
        float to_b = down[i] > 0 ? rate : down[i] < 0 ? -rate : 0;
        a[i] += to_a;
        b[i] -= to_b;
        kept[i] += to_b - to_a;
        r[i] += turn * (to_b - to_a);
    }
    return 1;
}

typedef struct {
    long head, relation, tail, other;
    int on_tail;
} Draw;

static inline uint64_t false_triple(const Draw *draw) {
    return draw->on_tail ? pack(draw->head, draw->relation, draw->other)
                         : pack(draw->other, draw->relation, draw->tail);
}

typedef struct {
    float *kept, *relation, *right, *wrong;
    float turn;
} Pair;

static void fetch(const float *row) {
    for (int i = 0; i < D; i += 16) __builtin_prefetch(row + i, 1);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int count, char **given) {
    if (count != 7) return 2;
    long n = atol(given[2]), entities = atol(given[3]), relations = atol(given[4]);
    int epochs = atoi(given[5]);
    float rate = atof(given[6]);
    int32_t *triples = malloc(n * 3 * sizeof(int32_t));
    FILE *file = fopen(given[1], "rb");
    if (!file || fread(triples, 3 * sizeof(int32_t), n, file) != (size_t)n) return 1;
    fclose(file);
    uint64_t size = 16;
    while (size < 2 * (uint64_t)n) size *= 2;
    mask = size - 1;
    table_ = malloc(size * sizeof(uint64_t));
    memset(table_, 0xFF, size * sizeof(uint64_t));
    uint32_t *order = malloc(n * sizeof(uint32_t));
    for (long i = 0; i < n; i++) {
        order[i] = i;
        insert(pack(triples[3 * i], triples[3 * i + 1], triples[3 * i + 2]));
    }
    float *entity = vectors(entities), *relation = vectors(relations);
    double *times = calloc(epochs, sizeof(double));
    long violated = 0;
    for (int epoch = -1; epoch < epochs; epoch++) {
        double start = seconds();
        for (long i = n - 1; i > 0; i--) {
            long j = below(i + 1);
            uint32_t other = order[j];
            order[j] = order[i];
            order[i] = other;
        }
        Draw draws[LOOK];
        Pair pairs[AHEAD];
        for (long i = 0; i < n + LOOK + AHEAD; i++) {
            Pair *pair = pairs + i % AHEAD;
            /* Rows must not overlap. */
            if (i >= LOOK + AHEAD && pair->right != pair->kept && pair->wrong != pair->kept)
                violated += step(pair->kept, pair->relation, pair->right, pair->wrong, pair->turn,
                                 rate) && epoch >= 0;
            Draw *draw = draws + i % LOOK;
            if (i >= LOOK && i < n + LOOK) {
                while (known(false_triple(draw))) draw->other = below(entities);
                long kept = draw->on_tail ? draw->head : draw->tail;
                long right = draw->on_tail ? draw->tail : draw->head;
                *pair = (Pair){entity + kept * D, relation + draw->relation * D,
                               entity + right * D, entity + draw->other * D,
                               draw->on_tail ? 1 : -1};
                fetch(pair->kept), fetch(pair->right), fetch(pair->wrong);
            }
            if (i >= n) continue;
            int32_t *triple = triples + 3 * (long)order[i];
            int on_tail = next() >> 63;
            *draw = (Draw){triple[0], triple[1], triple[2], below(entities), on_tail};
            __builtin_prefetch(table_ + (mix(false_triple(draw)) & mask));
        }
        if (epoch >= 0) times[epoch] = seconds() - start;
    }
    qsort(times, epochs, sizeof(double), ascending);
    printf("%.1f %.4f\n", n / times[epochs / 2], (double)violated / n / epochs);
    return 0;
}
