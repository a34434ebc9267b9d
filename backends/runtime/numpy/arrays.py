"""The type of all arrays in generated NumPy code."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
