"""The shapes of the parts of a heatmap's cell, one per model."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.arrays import Floats

#: Share of a cell left free on each side.
_EDGE = 0.04
_SW, _SE, _NW, _NE = (_EDGE, _EDGE), (1 - _EDGE, _EDGE), (_EDGE, 1 - _EDGE), (1 - _EDGE, 1 - _EDGE)
_MIDDLE = (0.5, 0.5)

#: By the number of parts of a cell, the corners of each part in the unit square: the whole; above and below
#: the diagonal; top, right, bottom and left, as the papers place their models.
SHAPES: dict[int, Floats] = {
    1: np.array([[_SW, _SE, _NE, _NW]]),
    2: np.array([[_NW, _NE, _SE], [_NW, _SE, _SW]]),
    4: np.array([[_NW, _NE, _MIDDLE], [_NE, _SE, _MIDDLE], [_SE, _SW, _MIDDLE], [_SW, _NW, _MIDDLE]]),
}


def corners(x: Floats, y: Floats, part: npt.NDArray[np.intp], n_parts: int) -> pd.DataFrame:
    """Return the corners of every part, its cell's lower left corner being at (x, y): columns group, x, y.

    A cell has width and height 1; rows come part by part, in the order given.
    """
    shape = SHAPES[n_parts][part]
    corner_x, corner_y = x[:, None] + shape[:, :, 0], y[:, None] + shape[:, :, 1]
    group = np.repeat(np.arange(len(part)), shape.shape[1])
    return pd.DataFrame({"group": group, "x": corner_x.ravel(), "y": corner_y.ravel()})


#: In a legend, a mark that points to the place of each part, by the number of parts.
MARKS: dict[int, tuple[Any, ...]] = {1: ("s",), 2: ((3, 0, -45), (3, 0, 135)), 4: ("v", "<", "^", ">")}


def centres(part: npt.NDArray[np.intp], n_parts: int) -> Floats:
    """Return the middle of each part in the unit square, one row each."""
    return np.asarray(SHAPES[n_parts].mean(axis=1)[part])


def geom_cells(*args: Any, **kwargs: Any) -> Any:
    """Return a ``geom_polygon`` that draws polygons of as many corners each, and one path per colour.

    A path per polygon takes a minute for 27,648 triangles, one per colour a second; and triangles of one
    colour that touch show no seam.
    """
    import plotnine as p9
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    class geom_cells(p9.geom_polygon):
        @staticmethod
        def draw_group(
            data: pd.DataFrame, panel_params: Any, coord: Any, ax: Any, params: dict[str, Any]
        ) -> None:
            data = coord.transform(data, panel_params)
            n_corners = int((data["group"] == data["group"].iloc[0]).sum())
            for fill, of_colour in data.groupby("fill", sort=False):
                polygons = of_colour[["x", "y"]].to_numpy().reshape(-1, n_corners, 2)
                path = Path.make_compound_path_from_polys(polygons)
                # Not add_patch, which would look at every corner again: the limits are known.
                ax.add_artist(PathPatch(path, facecolor=fill, linewidth=0, zorder=params["zorder"]))

    return geom_cells(*args, **kwargs)
