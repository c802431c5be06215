# Reference variances of flows x templates, orders within, by R's `lme4` (Debian: r-base-core, r-cran-lme4).
#
#   Rscript generalizability_reference.R FILE      prints the variances of flow, template, flow x template and the rest
#
# FILE is a CSV with columns flow, template and level: every flow in every template equally often. There REML gives the
# estimates of the analysis of variance. tests/unit/stats/test_generalizability.py has the numbers of the published
# answers of three models: the first 600 flows with a valid answer in all 33 variants (fewer where there are fewer).

suppressMessages(library(lme4))
data <- read.csv(commandArgs(trailingOnly = TRUE)[1])
control <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-12, maxfun = 1e5), calc.derivs = FALSE)
fit <- lmer(level ~ 1 + (1 | flow) + (1 | template) + (1 | flow:template), data = data, REML = TRUE, control = control)
found <- as.data.frame(VarCorr(fit))
print(setNames(sprintf("%.9f", found$vcov), found$grp)[c("flow", "template", "flow:template", "Residual")], quote = FALSE)
