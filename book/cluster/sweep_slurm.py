"""Run the synthetic sweep on a SLURM cluster, with dask-jobqueue."""

import joblib
from dask_jobqueue import SLURMCluster
from distributed import Client

from studies.pvf2026.synthetic.run import run_sweep

PARTITION = "short"
SHARED_FOLDER = "/scratch/pvf-sweep"  # all nodes must see it
N_NODES = 4

if __name__ == "__main__":
    cluster = SLURMCluster(
        queue=PARTITION, cores=8, processes=8, memory="16GB", walltime="01:00:00"
    )
    cluster.scale(jobs=N_NODES)
    with Client(cluster), joblib.parallel_config(backend="dask"):
        table = run_sweep(n_repetitions=5000, out=SHARED_FOLDER, progress=True)
    table.to_csv(f"{SHARED_FOLDER}/synthetic_sweep.csv", index=False)
