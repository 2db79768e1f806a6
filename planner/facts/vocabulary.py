"""Published fits of vocabulary size (Tao 2024, sail-sg/scaling-with-vocab)."""

F_COEFFICIENTS = (0.00639222, -0.15811069, 1.20470122)
"""a, b, c of tokens per character = a ln(V)^2 + b ln(V) + c, for V up to 200k (utils.py, P)."""

APPROACH_3 = {
    "A1": 1.8313851559554126,
    "A2": 0.19584238398665638,
    "B": 2.1241123120064955,
    "E": 5.5327846803337435,
    "alpha2": 0.6707374679896795,
    "beta": 0.44660634152009615,
}

MEASURED_V = (1024, 2048, 4096, 8192, 16384, 32768, 64512, 128000, 256000, 512000, 1024000)
MEASURED_TOKENS = (0.09915, 0.08441, 0.0738, 0.06593, 0.06034, 0.05668, 0.05447, 0.05321, 0.05242, 0.05172, 0.0514)
MEASURED_CHARACTERS = 0.22326
MEASURED_SOURCE = "their own measured totals, fit_tokenization_func.py (P)"
SOURCE = "Tao 2024, sail-sg/scaling-with-vocab (P)"
