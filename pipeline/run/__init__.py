"""A run: the folder that one recipe's execution owns, and the passes carried out in it, from wherever they stand.

plan      what a recipe means, known before any document is read
passes    which stages share one reading of the corpus
inputs    what tells one input from another: its content
commits   which shards of a pass stand
drive     pass after pass
decide    the decisions of corpus stages
publish   the corpus, the summary and the manifest put where people look, all or none
folder    who owns a run folder, what is kept in it, what may be removed
accounts  the summary, the ledger
"""

from pipeline.run.accounts import read_ledger
from pipeline.run.drive import execute
from pipeline.run.folder import local_folder
from pipeline.run.plan import RunPlan, plan_run
from pipeline.run.progress import Progress, Silent

__all__ = ["Progress", "RunPlan", "Silent", "execute", "local_folder", "plan_run", "read_ledger"]
