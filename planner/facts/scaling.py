"""Fitted scaling laws, unrounded, with their joint covariance."""

from typing import Any

HOFFMANN_ROUNDED: dict[str, Any] = {
    "A": 406.4,
    "B": 410.7,
    "E": 1.69,
    "alpha": 0.34,
    "beta": 0.28,
    "source": "Hoffmann 2022 appendix D, rounded (S)",
}
HOFFMANN_UNROUNDED: dict[str, Any] = {
    "logA": 6.0073404,
    "logB": 6.0179186,
    "logE": 0.5267228,
    "alpha": 0.33917084,
    "beta": 0.2849083,
    "source": "epoch-research/analyzing-chinchilla notebook (P)",
}
BESIROGLU: dict[str, Any] = {
    "A": 482.01,
    "B": 2085.43,
    "E": 1.8172,
    "alpha": 0.3478,
    "beta": 0.3658,
    "source": "Besiroglu 2024 (P)",
}

REFIT_THETA = (6.16924637, 7.67015675, 0.59730681, 0.3473105, 0.36717243)
"""log A, log B, log E, alpha, beta: refit of the 240 digitised points (C)."""
REFIT_COVARIANCE = (
    (0.06026508630062619, -0.021246012755525387, 0.0020437763081422138, 0.003594365306997678, -0.0010715994925106966),
    (-0.021246012755525387, 0.18084826731170467, 0.004006955801554484, -0.0013361446090489953, 0.008847095291066682),
    (0.0020437763081422138, 0.004006955801554484, 0.00020621820537344832, 0.00012053543247126833, 0.000195380193670366),
    (
        0.003594365306997678,
        -0.0013361446090489953,
        0.00012053543247126833,
        0.00021467110350348578,
        -6.742620616900362e-05,
    ),
    (
        -0.0010715994925106966,
        0.008847095291066682,
        0.000195380193670366,
        -6.742620616900362e-05,
        0.00043307659450651944,
    ),
)
REFIT_SOURCE = "refit of the 240 digitised Chinchilla points, 1000 bootstraps, joint covariance (C; Besiroglu 2024)"

INTERVAL_80 = {
    1e20: (20.6, 25.5),
    1e21: (17.1, 26.1),
    1e22: (14.1, 26.8),
    1e23: (11.6, 27.6),
    1e24: (9.6, 28.4),
    3.8e25: (7.1, 29.8),
}
"""D/N 80 % intervals of the refit by C, as computed with the covariance above (C)."""

LLAMA3_LAW: dict[str, tuple[float, float]] = {"printed": (0.29, 0.53), "figure": (0.299, 0.537)}
"""A and alpha of D = A C^alpha (Llama 3 paper, P): the printed digits give 10.5T tokens at 3.8e25, the paper says 16.55T."""

MUENNIGHOFF: dict[str, Any] = {
    "a": 6.255414,
    "b": 7.3049974,
    "e": 0.6254804,
    "alpha": 0.3526596,
    "beta": 0.3526596,
    "R_D": 15.387756,
    "R_N": 5.309743,
    "source": "Muennighoff 2023, datablations notebook (P)",
}
"""Fitted on up to 9B parameters and 900B tokens; it under-predicts failure at 44 epochs."""

KAPLAN = (1.3e9, 0.73, 8.64e19)
"""N = 1.3e9 (C / one PF-day of 8.64e19 FLOP)^0.73, non-embedding (Kaplan 2020, R); superseded: too large by Hoffmann 2022."""

LAW_RANGE = {"parameters": (44e6, 16.9e9), "tokens": (1e9, 5e11)}
"""Sizes and tokens about which the Chinchilla points lie (Hoffmann 2022: 44M to 16.9B parameters, up to 500B tokens)."""
