# Reference fits of people's answers by R's `lme4` (Debian: r-base-core, r-cran-lme4).
#
#   Rscript people_reference.R NAME.csv ...    writes people_reference.csv (data, quantity, level, value)
#
# NAME.csv is what the function NAME of tests/unit/stats/test_persons.py returns, without the index: columns flow, person,
# level and y. With the levels of confaide_2a in the other order bobyqa ends 0.04 below the maximum.

suppressMessages(library(lme4))
rows <- list()
for (file in commandArgs(trailingOnly = TRUE)) {
  name <- sub("\\.csv$", "", basename(file))
  data <- read.csv(file)
  for (column in c("flow", "person", "level")) data[[column]] <- factor(data[[column]])
  keep <- function(quantity, level, value) {
    rows[[length(rows) + 1]] <<- data.frame(data = name, quantity, level, value = sprintf("%.9f", value))
  }
  control <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10, maxfun = 1e6), calc.derivs = FALSE)
  fit <- lmer(y ~ 0 + level + (1 | flow) + (0 + level | person), data = data, REML = FALSE, control = control)
  people <- VarCorr(fit)$person
  correlation <- attr(people, "correlation")
  # The lower triangle by rows, as NumPy has it.
  pairs <- which(upper.tri(correlation), arr.ind = TRUE)
  keep("mean", levels(data$level), fixef(fit))
  keep("sd", levels(data$level), attr(people, "stddev"))
  keep("correlation", paste(pairs[, 2], pairs[, 1]), correlation[pairs])
  keep("sd_flow", "", attr(VarCorr(fit)$flow, "stddev"))
  keep("sd_residual", "", sigma(fit))
  keep("log_likelihood", "", as.numeric(logLik(fit)))
}
write.csv(do.call(rbind, rows), "people_reference.csv", row.names = FALSE)
