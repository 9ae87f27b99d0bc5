"""Contracts that kernels and feature maps of your own can be run against."""

from gramian.testing.feature_contract import check_feature_map
from gramian.testing.kernel_contract import check_kernel

__all__ = ["check_feature_map", "check_kernel"]
