"""Updates against retraining over chains of versions: quality, what is learned and forgotten, cost.

    python -m tests.benchmarks.updates [--chains …] [--models …] [--methods …] [--seeds …]
    python -m tests.benchmarks.updates --quick
    python -m tests.benchmarks.updates --summary

Every result is one line in the folder `records`; a run that was cut off goes on where it was, on
any machine. In the tables every method is compared with retraining (`scratch`): ratios of MRR, mean
and worst version; by side; without the most frequent query; near the change; of added and deleted
training triples; vectors rewritten as a share of those touched by the change; and work.
"""
