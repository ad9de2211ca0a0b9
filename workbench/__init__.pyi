# The names of `import workbench`, each from its module. `__init__.py` reads this file when it runs.

from workbench.errors import InputError as InputError
from workbench.measure.blame import blame as blame
from workbench.measure.evaluation import evaluate as evaluate
from workbench.measure.questions import load_questions as load_questions
from workbench.measure.thresholds import scores as scores
from workbench.memory.embedding.local import LocalEmbedder as LocalEmbedder
from workbench.memory.embedding.local import ToyEmbedder as ToyEmbedder
from workbench.memory.opening import open_index as open  # noqa: A004, F401
from workbench.memory.opening import open_index as open_index
from workbench.memory.options import Options as Options
from workbench.memory.sync import index_folder as index_folder
from workbench.records import Trace as Trace
from workbench.retrieval.explain import explain as explain
from workbench.retrieval.pipeline import Pipeline as Pipeline
from workbench.retrieval.pipeline import search as search
from workbench.systems.catalogue import SYSTEMS as SYSTEMS
from workbench.systems.catalogue import indexing as indexing
from workbench.systems.catalogue import register as register
from workbench.systems.catalogue import system as system
from workbench.views.living.selection import selection as selection
from workbench.views.show import show as show
from workbench.views.show import table as table

__version__: str
