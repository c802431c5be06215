# Reference fits on people's ratings by R's `ordinal` (Debian: r-base-core, r-cran-ordinal).
#
#   Rscript ratings_reference.R FOLDER      in this folder; writes ratings_reference.csv
#
# FOLDER has confaide_ratings.csv (columns tier, flow, rater, people): the survey's files without ids. The ratings are no
# part of this project, because their authors state no licence; only coefficients are written.

library(ordinal)

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

write.csv(do.call(rbind, found), "ratings_reference.csv", row.names = FALSE, quote = TRUE)
