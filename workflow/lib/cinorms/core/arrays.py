"""Types of arrays.

They are those of `rewordings.arrays`, written again: an edit of that library would otherwise rebuild every stage.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
