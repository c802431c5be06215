# Reference numbers for tests/unit/test_{hypotheses,pvalues,marginal_means}.py, from base R alone.
# Run in this folder: Rscript hypotheses_reference.R; writes hypotheses_reference.csv (test, item, quantity, value).
# The norms are not random numbers of R's, so that any language can make them again: see `level` below.

level <- function(flow, model) {
  # Whole numbers -2..2 from a fixed mixture; model 1 is mostly low, model 4 mostly high.
  u <- (flow * 7919 + model * 104729 + flow * model * 31) %% 1009 / 1009
  v <- (flow * 613) %% 257 / 257
  pmin(2, pmax(-2, floor(5 * (0.6 * v + 0.4 * u) + 0.35 * model) - 3))
}
flows <- 0:199
Y <- sapply(1:4, function(m) level(flows, m))
colnames(Y) <- c("a", "b", "c", "d")

rows <- list()
keep <- function(test, item, quantity, value) {
  rows[[length(rows) + 1]] <<- data.frame(test, item, quantity, value = format(value, digits = 17))
}

f <- friedman.test(Y)
keep("friedman", "abcd", "statistic", unname(f$statistic))
keep("friedman", "abcd", "p", f$p.value)

pairs <- combn(colnames(Y), 2)
p_wilcoxon <- p_t <- numeric(0)
for (i in seq_len(ncol(pairs))) {
  a <- Y[, pairs[1, i]]; b <- Y[, pairs[2, i]]
  name <- paste0(pairs[1, i], pairs[2, i])
  w <- suppressWarnings(wilcox.test(a, b, paired = TRUE, exact = FALSE, correct = FALSE))
  keep("wilcoxon", name, "positive_ranks", unname(w$statistic))
  keep("wilcoxon", name, "p", w$p.value)
  p_wilcoxon[name] <- w$p.value
  t <- t.test(a, b, paired = TRUE)
  keep("t", name, "statistic", unname(t$statistic))
  keep("t", name, "p", t$p.value)
  keep("shapiro", name, "p", shapiro.test(a - b)$p.value)
}
for (method in c("bonferroni", "holm", "BH")) {
  adjusted <- p.adjust(p_wilcoxon, method)
  for (name in names(adjusted)) keep("wilcoxon", name, tolower(method), adjusted[[name]])
}

g <- anova(lm(Y ~ 1), X = ~1, test = "Spherical")
keep("anova", "abcd", "statistic", g[1, "F"])
keep("anova", "abcd", "p_uncorrected", g[1, "Pr(>F)"])
keep("anova", "abcd", "p", g[1, "G-G Pr"])

# A complete 3 x 4 x 5 design: marginal means.
d <- expand.grid(A = c("a1", "a2", "a3"), B = paste0("b", 1:4), C = paste0("c", 1:5))
d$value <- level(seq_len(nrow(d)) - 1, 2)
for (name in c("A", "B", "C")) {
  m <- tapply(d$value, d[[name]], mean)
  for (l in names(m)) keep("marginal_mean", l, "mean", m[[l]])
}

write.csv(do.call(rbind, rows), "hypotheses_reference.csv", row.names = FALSE, quote = FALSE)
