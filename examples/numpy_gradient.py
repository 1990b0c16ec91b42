"""Fit a curve to measurements: ordinary NumPy code, differentiated twice for Newton's method."""

import numpy as np

import retrograde as rg


def decay(parameters, time):
    """Exponential decay: amplitude, rate, and what remains in the end."""
    amplitude, rate, rest = parameters
    return amplitude * np.exp(-rate * time) + rest


def misfit(parameters, time, measured):
    """Sum of squared residuals."""
    return np.sum((decay(parameters, time) - measured) ** 2)


def main():
    """Fit noisy data and print parameters with their standard errors."""
    rng = np.random.default_rng(0)
    time = np.linspace(0, 5, 60)
    measured = decay((3.0, 1.2, 0.5), time) + rng.normal(0, 0.05, time.size)

    gradient, curvature = rg.grad(misfit), rg.hessian(misfit)
    parameters = np.array([2.5, 1.0, 0.3])
    for step in range(20):
        change = np.linalg.solve(curvature(parameters, time, measured), gradient(parameters, time, measured))
        parameters = parameters - change
        print(f"step {step + 1}: misfit {misfit(parameters, time, measured):.6f}")
        if np.linalg.norm(change) < 1e-10:
            break

    variance = misfit(parameters, time, measured) / (time.size - parameters.size)
    errors = np.sqrt(np.diag(2 * variance * np.linalg.inv(curvature(parameters, time, measured))))
    for name, value, error in zip(("amplitude", "rate", "rest"), parameters, errors, strict=True):
        print(f"{name:9} {value:.3f} ± {error:.3f}")


if __name__ == "__main__":
    main()
