"""What `import gramian` offers, for editors and type checkers; at run time everything is imported on first use."""

from gramian import datasets as datasets
from gramian import features as features
from gramian import kernels as kernels
from gramian import plotting as plotting
from gramian import preimage as preimage
from gramian import solvers as solvers
from gramian import testing as testing
from gramian.estimators.classifier import KernelPPCAClassifier as KernelPPCAClassifier
from gramian.estimators.comparison import compare_imputers as compare_imputers
from gramian.estimators.dynamic_ppca import DynamicPPCA as DynamicPPCA
from gramian.estimators.forecaster import RKMForecaster as RKMForecaster
from gramian.estimators.imputer import LatentImputer as LatentImputer
from gramian.estimators.kernel_mixture import KernelPPCAMixture as KernelPPCAMixture
from gramian.estimators.kernel_ppca import KernelPPCA as KernelPPCA
from gramian.estimators.multiview import MultiViewRKM as MultiViewRKM
from gramian.estimators.outliers import LatentOutlierDetector as LatentOutlierDetector
from gramian.estimators.ppca import PPCA as PPCA
from gramian.estimators.ppca_mixture import PPCAMixture as PPCAMixture
from gramian.estimators.rkm import RKMRegressor as RKMRegressor
from gramian.estimators.rkm_classifier import RKMClassifier as RKMClassifier
from gramian.estimators.table_preprocessor import TablePreprocessor as TablePreprocessor
from gramian.exceptions import DataWarning as DataWarning
from gramian.exceptions import ModelFileError as ModelFileError
from gramian.exceptions import NumericalWarning as NumericalWarning
from gramian.explorer import explore as explore
from gramian.first_lines import fill as fill
from gramian.first_lines import odd_rows as odd_rows
from gramian.first_lines import report as report
from gramian.io.model_file import load as load
from gramian.io.model_file import save as save
from gramian.pooling import pool as pool
from gramian.tuning.search import BayesSearch as BayesSearch
from gramian.tuning.suggest import suggest as suggest
from gramian.views.view import stack_views as stack_views

__version__: str
__all__: list[str]

def fill_tables() -> None: ...
