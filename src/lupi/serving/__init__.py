"""A playground in the browser, and the same forecasts over HTTP."""
