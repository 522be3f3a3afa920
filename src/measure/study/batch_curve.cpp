#include "measure/study/batch_curve.hpp"

#include "patchbench/base/error.hpp"

#include <Eigen/QR>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/tools/minima.hpp>

#include <algorithm>
#include <cmath>
#include <set>

namespace pb::measure {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kAlphaLow = 0.05, kAlphaHigh = 5;
constexpr int kAlphaSteps = 60;         // grid that brackets the minimum
constexpr int kAlphaBits = 40;          // precision of the refinement, in bits
constexpr int kLinePoints = 33;         // points of the drawn curve
constexpr double kTinySquares = 1e-18;  // mean squared residual below which only rounding is left

double at(const std::vector<BatchTime>& times, Index i) {
    return static_cast<double>(times[static_cast<size_t>(i)].batch);
}

/// Returns the terms of the curve at batch `b`, in the order of their coefficients c, t_min, d.
VectorXd terms(CurveForm form, double b, double alpha) {
    VectorXd row(form == CurveForm::rising ? 3 : 2);
    row[0] = std::pow(b, -alpha);
    row[1] = 1;
    if (form == CurveForm::rising) row[2] = b;
    return row;
}

/// The solution of the linear problem for one alpha. Rows are divided by the measured time, so residuals are relative.
struct Projection {
    double alpha = 0;
    VectorXd coefficients;
    double squares = 0;
};

/// Solves least squares with coefficients >= 0. There are few columns, so it tries every subset of them: the best
/// subset with a non-negative free solution is the answer.
Projection project(CurveForm form, const std::vector<BatchTime>& times, double alpha) {
    const auto n = static_cast<Index>(times.size());
    const Index columns = form == CurveForm::rising ? 3 : 2;
    MatrixXd design(n, columns);
    for (Index i = 0; i < n; ++i)
        design.row(i) = terms(form, at(times, i), alpha).transpose() / times[static_cast<size_t>(i)].window_s;
    const VectorXd ones = VectorXd::Ones(n);
    Projection best{alpha, VectorXd::Zero(columns), static_cast<double>(n)};
    for (unsigned subset = 1; subset < 1U << columns; ++subset) {
        std::vector<Index> chosen;
        for (Index column = 0; column < columns; ++column)
            if ((subset >> column & 1U) != 0) chosen.push_back(column);
        const MatrixXd part = design(Eigen::all, chosen);
        const VectorXd solution = part.colPivHouseholderQr().solve(ones);
        if (solution.minCoeff() < 0) continue;
        const double squares = (ones - part * solution).squaredNorm();
        if (squares >= best.squares) continue;
        best.squares = squares;
        best.coefficients.setZero();
        best.coefficients(chosen) = solution;
    }
    return best;
}

/// Finds the minimum over alpha: a grid, because there may be several minima, then Brent between the neighbours of the
/// best one.
Projection search_alpha(CurveForm form, const std::vector<BatchTime>& times) {
    const auto squares = [&](double log_alpha) { return project(form, times, std::exp(log_alpha)).squares; };
    const double low = std::log(kAlphaLow), step = (std::log(kAlphaHigh) - low) / kAlphaSteps;
    int best = 0;
    for (int i = 1; i <= kAlphaSteps; ++i)
        if (squares(low + i * step) < squares(low + best * step)) best = i;
    const auto found = boost::math::tools::brent_find_minima(squares, low + std::max(best - 1, 0) * step,
                                                             low + std::min(best + 1, kAlphaSteps) * step, kAlphaBits);
    return project(form, times, std::exp(found.first));
}

/// False when alpha lies at a bound or has no term to act on. The data then do not determine it.
bool alpha_is_free(const Projection& fit) {
    return fit.coefficients[0] > 0 && fit.alpha > kAlphaLow * 1.01 && fit.alpha < kAlphaHigh * 0.99;
}

/// Returns the derivatives of the curve by its parameters c, alpha, t_min[, d] at batch `b`; 0 for parameters held
/// fixed.
VectorXd gradient(CurveForm form, const Projection& fit, double b) {
    const VectorXd row = terms(form, b, fit.alpha);
    VectorXd moves = VectorXd::Zero(row.size() + 1);
    for (Index i = 0; i < row.size(); ++i)
        if (fit.coefficients[i] > 0) moves[i == 0 ? 0 : i + 1] = row[i];
    if (alpha_is_free(fit)) moves[1] = -fit.coefficients[0] * std::log(b) * row[0];
    return moves;
}

/// Holds the uncertainty of a fit: half widths of 95 % intervals by linearisation at the solution (delta method).
class Spread {
  public:
    Spread(CurveForm form, const Projection& fit, const std::vector<BatchTime>& times) : form_(form), fit_(fit) {
        const auto n = static_cast<Index>(times.size());
        MatrixXd jacobian(n, terms(form, 1, 1).size() + 1);
        for (Index i = 0; i < n; ++i)
            jacobian.row(i) = gradient(form, fit, at(times, i)).transpose() / times[static_cast<size_t>(i)].window_s;
        for (Index column = 0; column < jacobian.cols(); ++column)
            if (jacobian.col(column).norm() > 0) free_.push_back(column);
        const auto freedom = n - static_cast<Index>(free_.size());
        if (freedom < 1 || free_.empty()) return;
        MatrixXd scaled = jacobian(Eigen::all, free_);
        const VectorXd norms = scaled.colwise().norm();
        scaled = scaled * norms.cwiseInverse().asDiagonal();
        Eigen::ColPivHouseholderQR<MatrixXd> qr(scaled);
        qr.setThreshold(1e-7);
        if (qr.rank() < static_cast<Index>(free_.size())) return;
        const MatrixXd inverse = MatrixXd(scaled.transpose() * scaled).colPivHouseholderQr().inverse();
        const VectorXd unscale = norms.cwiseInverse();
        covariance_ = unscale.asDiagonal() * inverse * unscale.asDiagonal();
        covariance_ *= fit.squares / static_cast<double>(freedom);
        const boost::math::students_t t(static_cast<double>(freedom));
        factor_ = boost::math::quantile(t, 0.975);
    }

    [[nodiscard]] bool known() const { return covariance_.size() > 0; }

    [[nodiscard]] std::optional<double> of_parameter(Index parameter) const {
        const auto place = std::ranges::find(free_, parameter);
        if (!known() || place == free_.end()) return std::nullopt;
        const Index i = place - free_.begin();
        return factor_ * std::sqrt(covariance_(i, i));
    }

    [[nodiscard]] std::optional<double> of_curve(double b) const {
        if (!known()) return std::nullopt;
        const VectorXd moves = gradient(form_, fit_, b)(free_);
        return factor_ * std::sqrt(std::max(0.0, moves.dot(covariance_ * moves)));
    }

  private:
    CurveForm form_;
    const Projection& fit_;
    std::vector<Index> free_;
    MatrixXd covariance_;
    double factor_ = 0;
};

std::optional<Interval> around(double value, std::optional<double> half_width) {
    return half_width ? std::optional(Interval{value - *half_width, value + *half_width}) : std::nullopt;
}

double value_at(CurveForm form, const Projection& fit, double b) {
    return terms(form, b, fit.alpha).dot(fit.coefficients);
}

/// Returns AICc (Hurvich & Tsai 1989). The variance of the residuals counts as a parameter.
std::optional<double> akaike(const BatchCurve& curve, double squares) {
    const auto n = static_cast<double>(curve.fitted.size());
    const auto k = static_cast<double>(curve.parameters.size()) + 1;
    if (n - k - 1 <= 0) return std::nullopt;
    return n * std::log(std::max(squares / n, kTinySquares)) + 2 * k + 2 * k * (k + 1) / (n - k - 1);
}

void add_parameters(const Projection& fit, const Spread& spread, BatchCurve& curve) {
    const auto add = [&](const char* name, double value) {
        const auto place = static_cast<Index>(curve.parameters.size());
        curve.parameters.push_back({name, value, around(value, spread.of_parameter(place))});
    };
    add("c", fit.coefficients[0]);
    add("alpha", fit.alpha);
    add("t_min", fit.coefficients[1]);
    if (curve.form == CurveForm::rising) add("d", fit.coefficients[2]);
}

void add_line(const Projection& fit, const Spread& spread, BatchCurve& curve) {
    const auto [first, last] = std::ranges::minmax_element(curve.fitted, {}, &BatchTime::batch);
    const auto low = static_cast<double>(first->batch), high = static_cast<double>(last->batch);
    for (int i = 0; i < kLinePoints; ++i) {
        const bool is_last = i == kLinePoints - 1;  // the last point exactly: the power rounds
        const double b = is_last ? high : low * std::pow(high / low, static_cast<double>(i) / (kLinePoints - 1));
        const double time = value_at(curve.form, fit, b);
        curve.line.push_back({b, time, around(time, spread.of_curve(b))});
    }
}

void add_notes(const Projection& fit, const Spread& spread, BatchCurve& curve) {
    if (fit.coefficients[0] <= 0)
        curve.notes.emplace_back("c = 0: the time does not fall with the batch, so alpha means nothing");
    else if (!alpha_is_free(fit))
        curve.notes.emplace_back("alpha lies at the bound of its search (0.05 to 5): the data do not fix it");
    if (curve.form == CurveForm::rising && fit.coefficients[2] <= 0)
        curve.notes.emplace_back("d = 0: no arm on which a larger batch costs more");
    if (!spread.known())
        curve.notes.emplace_back("the parameters cannot be told apart with these batches: no intervals");
}

void check(const std::vector<BatchTime>& times) {
    for (const auto& time : times)
        require(time.batch >= 1 && std::isfinite(time.window_s) && time.window_s > 0,
                "a batch curve needs batches from 1 on and positive times");
}

}  // namespace

std::optional<BatchCurve> fit_batch_curve(CurveForm form, std::vector<BatchTime> times) {
    check(times);
    const size_t num_parameters = form == CurveForm::rising ? 4 : 3;
    std::set<int64_t> distinct;
    for (const auto& time : times) distinct.insert(time.batch);
    if (times.size() < num_parameters + 1 || distinct.size() < num_parameters) return std::nullopt;
    BatchCurve curve;
    curve.form = form;
    curve.fitted = std::move(times);
    const Projection fit = search_alpha(form, curve.fitted);
    const Spread spread(form, fit, curve.fitted);
    for (const auto& time : curve.fitted)
        curve.residuals.push_back(1 - value_at(form, fit, static_cast<double>(time.batch)) / time.window_s);
    curve.rms_residual = std::sqrt(fit.squares / static_cast<double>(curve.fitted.size()));
    add_parameters(fit, spread, curve);
    curve.aicc = akaike(curve, fit.squares);
    add_line(fit, spread, curve);
    add_notes(fit, spread, curve);
    return curve;
}

}  // namespace pb::measure
