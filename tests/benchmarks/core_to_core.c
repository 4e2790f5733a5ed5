// How long a number takes from one core to the other and back, halved, in nanoseconds.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { ROUNDS = 2000000 };

static _Alignas(128) atomic_long ball;

static void stay_on(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static void *answer(void *unused) {
    stay_on(1);
    for (long i = 0; i < ROUNDS; i++) {
        while (atomic_load(&ball) != 2 * i + 1) {}
        atomic_store(&ball, 2 * i + 2);
    }
    return unused;
}

int main(void) {
    pthread_t other;
    struct timespec start, end;
    stay_on(0);
    pthread_create(&other, NULL, answer, NULL);
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (long i = 0; i < ROUNDS; i++) {
        atomic_store(&ball, 2 * i + 1);
        while (atomic_load(&ball) != 2 * i + 2) {}
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    pthread_join(other, NULL);
    double spent = (end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec);
    printf("%f\n", spent / ROUNDS / 2);
    return 0;
}
