# Reference fits on people's ratings by R's `ordinal` and `lme4` (Debian: r-base-core, r-cran-ordinal, r-cran-lme4).
#
#   Rscript ratings_reference.R FOLDER      in this folder; writes ratings_reference.csv
#
# FOLDER has confaide_ratings.csv (columns tier, flow, rater, people) and chatbot_ratings.csv (rater, seven factors,
# appropriate_score, concern_score): the surveys' files without ids. The ratings are no part of this project, because their
# authors state no licence; only coefficients are written.

library(ordinal)
library(lme4)

folder <- commandArgs(trailingOnly = TRUE)[1]
found <- list()
add <- function(model, parameter, estimate, std_err = NA) {
  found[[length(found) + 1]] <<- data.frame(model = model, parameter = parameter, estimate = estimate, std_err = std_err)
}

# --- ConfAIde: cumulative link mixed models with an intercept for each rater, and another for each flow.

types <- c("friends", "purchases", "politics", "religion", "health", "security number", "location")
ratings <- read.csv(file.path(folder, "confaide_ratings.csv"))
for (tier in c("2a", "2b")) {
  data <- ratings[ratings$tier == tier, ]
  data$y <- factor(data$people, ordered = TRUE)
  data$type <- factor(types[data$flow %/% 14 + 1], levels = types)
  data$rater <- factor(data$rater)
  data$flow <- factor(data$flow)
  control <- clmm.control(gradTol = 1e-6)
  for (random in c("rater", "flow_rater")) {
    terms <- if (random == "rater") y ~ type + (1 | rater) else y ~ type + (1 | flow) + (1 | rater)
    fit <- clmm(terms, data = data, Hess = TRUE, control = control)
    name <- paste(tier, random, sep = "_")
    summary <- coef(summary(fit))
    add(name, sub("^type", "", rownames(summary)), summary[, 1], summary[, 2])
    sds <- sapply(VarCorr(fit), function(v) attr(v, "stddev"))
    add(name, paste0("sd_", sub("\\..*", "", names(sds))), sds)
    add(name, "logLik", as.numeric(logLik(fit)))
  }
}

# --- The chatbot survey: linear mixed models with an intercept for each person; standard errors robust against what the
# ratings of a person share (CR1: the sum over persons, times m / (m - 1)).

data <- read.csv(file.path(folder, "chatbot_ratings.csv"))
factors <- c("role", "location", "purpose", "content", "consent", "anonymity", "privacy")
baselines <- c(role = "a hospital", location = "the US", purpose = "improving user experience with AI")
for (name in factors) data[[name]] <- factor(data[[name]])
for (name in names(baselines)) data[[name]] <- relevel(data[[name]], ref = baselines[[name]])
for (outcome in c("appropriate_score", "concern_score")) {
  data$y <- data[[outcome]]
  fit <- lmer(reformulate(c(factors, "(1 | rater)"), "y"), data = data, control = lmerControl(optCtrl = list(ftol_abs = 1e-12, xtol_abs = 1e-12)))
  x <- getME(fit, "X")
  left <- data$y - x %*% fixef(fit)
  within <- sigma(fit)^2
  between <- as.numeric(VarCorr(fit)$rater)
  meat <- matrix(0, ncol(x), ncol(x))
  bread <- matrix(0, ncol(x), ncol(x))
  for (rows in split(seq_len(nrow(data)), data$rater)) {
    inverse <- solve(diag(within, length(rows)) + between)
    part <- x[rows, , drop = FALSE]
    score <- t(part) %*% inverse %*% left[rows]
    meat <- meat + score %*% t(score)
    bread <- bread + t(part) %*% inverse %*% part
  }
  m <- length(unique(data$rater))
  robust <- solve(bread) %*% meat %*% solve(bread) * m / (m - 1)
  add(outcome, names(fixef(fit)), fixef(fit), sqrt(diag(robust)))
  add(outcome, c("var_rater", "var_residual", "logLik"), c(between, within, as.numeric(logLik(fit))))
}
write.csv(do.call(rbind, found), "ratings_reference.csv", row.names = FALSE, quote = TRUE)
