"""Run a study of the book on a SLURM cluster, with dask-jobqueue.

At full scale: ``python study_slurm.py rules``; a trial: ``--reduced``.
"""

import sys

import joblib
from dask_jobqueue import SLURMCluster
from distributed import Client

from studies.catalogue import STUDIES

PARTITION = "short"
SHARED_FOLDER = "/scratch/pvf"  # all nodes must see it
N_NODES, CORES, MEMORY = 4, 8, "16GB"

if __name__ == "__main__":
    name = sys.argv[1]
    study = STUDIES[name]
    trial = "--reduced" in sys.argv
    settings = study.settings() if trial else study.settings.full()
    node = {"cores": CORES, "processes": CORES, "memory": MEMORY}
    cluster = SLURMCluster(queue=PARTITION, walltime="01:00:00", **node)
    cluster.scale(jobs=N_NODES)
    with Client(cluster), joblib.parallel_config(backend="dask"):
        table = study.table(settings, out=SHARED_FOLDER, progress=True)
    table.to_csv(f"{SHARED_FOLDER}/{name}.csv", index=False)
