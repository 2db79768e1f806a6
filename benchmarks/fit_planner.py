"""Fits the factors of the planner's step time to the published rows, and shows what each family's rows say of them.

    python -P benchmarks/fit_planner.py

(-P: benchmarks/planner.py would hide the package).

Prints the factors to put into planner/facts/step_time.py (FITTED); the layouts of rows that do not publish one are the
planner's own at the factors in force, so run it until nothing moves. `tokenmill plan validate` has the coverage.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from planner.estimate.calibration import fit, left_out, spread
from planner.estimate.rows import cases
from planner.facts.step_time import FITTED, NAMES


def main() -> None:
    found = fit(cases())
    outside, widths = left_out(found), spread(found.slopes)
    rows = defaultdict(list)
    for case, inside, out, width in zip(found.cases, found.residuals, outside, widths, strict=True):
        rows[case.kind, case.family].append((inside, out, width))
    print("kind and family: rows, mean log residual in the fit and without the family, expected spread")
    for (kind, family), values in sorted(rows.items()):
        inside, out, width = np.mean(values, axis=0)
        print(f"  {kind:<20}{family:<15}{len(values):4}  {inside:+.3f}  {out:+.3f}  {width:.3f}")
    for name in NAMES:
        print(f"{name}={getattr(found.factors, name):.4g}  (in force {getattr(FITTED, name):.4g})")


if __name__ == "__main__":
    main()
