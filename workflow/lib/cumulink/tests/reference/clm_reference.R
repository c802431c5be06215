# Reference fits of cumulative link models by R's `ordinal` (Debian: r-base-core, r-cran-ordinal).
#
#   Rscript clm_reference.R        in this folder; writes clm_data.csv, clm_reference.csv, clmm_reference.csv,
#                                  tails_reference.csv
#
# The data are simulated: 60 groups ("flow") with two factors of their own and a random intercept, crossed with ten
# others ("variant") in three orders.

library(ordinal)

set.seed(20260)
flows <- data.frame(flow = 1:60)
flows$sender <- sample(c("camera", "lock", "meter", "watch"), 60, replace = TRUE)
flows$recipient <- sample(c("doctor", "police", "vendor"), 60, replace = TRUE)
flows$u <- rnorm(60, sd = 0.9)
variants <- data.frame(variant = 1:10, order = rep(c("first", "second", "third"), length.out = 10),
                       v = rnorm(10, sd = 0.5))
data <- merge(flows, variants)
data <- data[order(data$flow, data$variant), ]
eta <- c(camera = 0, lock = 0.8, meter = -0.5, watch = 1.5)[data$sender] +
  c(doctor = 0, police = -1.2, vendor = 0.4)[data$recipient] +
  c(first = 0, second = 0.3, third = -0.3)[data$order] + data$u + data$v
latent <- eta + rlogis(nrow(data))
data$level <- cut(latent, c(-Inf, -2, -0.7, 0.1, 1.6, Inf), labels = FALSE) - 3
data <- data[, c("flow", "variant", "sender", "recipient", "order", "level")]
write.csv(data, "clm_data.csv", row.names = FALSE, quote = FALSE)

data$y <- factor(data$level, ordered = TRUE)
data$flow <- factor(data$flow)
data$variant <- factor(data$variant)
data$sender <- relevel(factor(data$sender), ref = "lock")
terms <- y ~ sender + recipient + order

rows <- function(model, fit) {
  found <- coef(summary(fit))
  data.frame(model = model, parameter = c(rownames(found), "logLik"),
             estimate = c(found[, 1], as.numeric(logLik(fit))), std_err = c(found[, 2], NA))
}
tight <- clm.control(gradTol = 1e-10, maxIter = 200L)
fits <- list()
for (link in c("logit", "probit", "cloglog")) {
  fits[[length(fits) + 1]] <- rows(link, clm(terms, data = data, link = link, control = tight))
}
write.csv(do.call(rbind, fits), "clm_reference.csv", row.names = FALSE, quote = FALSE)

mixed <- list()
control <- clmm.control(gradTol = 1e-6)
add <- function(model, fit) {
  found <- rows(model, fit)
  sds <- sapply(VarCorr(fit), function(v) attr(v, "stddev"))
  mixed[[length(mixed) + 1]] <<- rbind(found, data.frame(
    model = model, parameter = paste0("sd_", sub("\\..*", "", names(sds))), estimate = sds, std_err = NA))
}
random <- y ~ sender + recipient + order + (1 | flow)
add("laplace", clmm(random, data = data, Hess = TRUE, control = control))
add("crossed_laplace", clmm(y ~ sender + recipient + order + (1 | flow) + (1 | variant), data = data, Hess = TRUE,
                            control = control))
write.csv(do.call(rbind, mixed), "clmm_reference.csv", row.names = FALSE, quote = FALSE)

tails <- list()
keep <- function(test, item, value) {
  tails[[length(tails) + 1]] <<- data.frame(test = test, item = item, value = sprintf("%.17g", value))
}
log10_of <- function(log_p) log_p / log(10)
for (x in c(1, 50, 700, 1400, 7326.93, 1e5)) for (df in c(1, 3, 9)) {
  keep("chi_square", paste(x, df), log10_of(pchisq(x, df, lower.tail = FALSE, log.p = TRUE)))
}
for (z in c(0, 1.959964, 30, 42, 500)) {
  keep("normal", paste(z), log10_of(log(2) + pnorm(-z, log.p = TRUE)))
}
for (t in c(0.5, 4, 39, 70, 120)) for (df in c(5, 6911)) {
  keep("student", paste(t, df), log10_of(log(2) + pt(-t, df, log.p = TRUE)))
}
for (x in c(0.5, 20, 1717, 3512, 20000)) for (df in c(1, 2.66, 7)) for (error in c(20, 18254.5)) {
  keep("f_ratio", paste(x, df, error), log10_of(pf(x, df, error, lower.tail = FALSE, log.p = TRUE)))
}
write.csv(do.call(rbind, tails), "tails_reference.csv", row.names = FALSE, quote = FALSE)
