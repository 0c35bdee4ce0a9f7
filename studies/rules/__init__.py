"""Which rule should choose the model: thirty-one data sets, three pools, fifteen rules."""
