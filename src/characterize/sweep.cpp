// SPDX-License-Identifier: Apache-2.0
#include "characterize/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <utility>

#include "core/file.h"

namespace rooftile::characterize {

namespace {

Seconds now() {
  const auto t = std::chrono::steady_clock::now().time_since_epoch();
  return Seconds::from_base(std::chrono::duration<double>(t).count());
}

/// How often the clock is looked at between the cases.
constexpr Seconds kClockInterval = Seconds::from_base(2.0);

class SingleProcess final : public Coordinator {};

/// The fastest of three runs: one that was interrupted would look like many passes.
Result<Seconds> fastest_of_three(Device& device, std::int64_t passes, Coordinator& ranks) {
  Seconds best = Seconds::from_base(1e9);
  for (int i = 0; i < 3; ++i) {
    ranks.barrier();
    ROOFTILE_TRY(const Seconds time, device.run(passes));
    best = min(best, time);
  }
  return Seconds::from_base(ranks.largest(best.base()));
}

/// More passes until a run takes the target time; what finding that out takes is the warm-up too.
Result<std::int64_t> find_passes(Device& device, const Plan& plan, Coordinator& ranks) {
  constexpr std::int64_t kMostPasses = std::int64_t{1} << 40;
  const Seconds begin = now();
  std::int64_t passes = 1;
  while (true) {
    ROOFTILE_TRY(const Seconds time, fastest_of_three(device, passes, ranks));
    const bool long_enough = time >= plan.target_run * 0.7;
    const bool warm = ranks.largest(now() - begin < plan.warm_up ? 1.0 : 0.0) == 0.0;
    if ((long_enough && warm) || passes >= kMostPasses) return passes;
    if (!long_enough) {
      // At most 16 times more at once: the first runs pay for page faults and JIT compilation.
      const double wanted = plan.target_run / max(time, Seconds::from_base(1e-9));
      passes = static_cast<std::int64_t>(
          std::ceil(static_cast<double>(passes) * std::clamp(wanted, 1.2, 16.0)));
    }
  }
}

struct Measured {
  Sample own, slowest;
};

Result<Measured> measure(Device& device, const Case& what, const Plan& plan, Coordinator& ranks) {
  ROOFTILE_TRY(const PassWork work, device.prepare(what));
  ROOFTILE_TRY(const std::int64_t passes, find_passes(device, plan, ranks));
  std::vector<Seconds> own, slowest;
  Stop stop = Stop::Continue;
  while (stop == Stop::Continue) {
    ranks.barrier();
    const Seconds begin = now();
    ROOFTILE_TRY(const Seconds time, device.run(passes));
    own.push_back(time);
    slowest.push_back(ranks.simultaneous(time, begin, now()));
    stop = check(plan.stopping, slowest);  // the same times on every rank, so all stop together
  }
  const auto finish = [&](std::vector<Seconds>& times) {
    for (Seconds& t : times) t = t / static_cast<double>(passes);
    return Sample{.what = what,
                  .work = work,
                  .passes = passes,
                  .time = summarize(times, plan.stopping.confidence),
                  .converged = stop == Stop::Converged};
  };
  return Measured{.own = finish(own), .slowest = finish(slowest)};
}

Result<std::vector<Sample>> load_checkpoint(const std::string& path, const std::string& wanted) {
  std::error_code ignored;
  if (path.empty() || !std::filesystem::exists(path, ignored)) return std::vector<Sample>{};
  ROOFTILE_TRY(const std::string text, read_file(path));
  ROOFTILE_TRY(SamplesFile file, read_samples(text, path));
  if (file.fingerprint != wanted) {
    return bad_input(path, "the checkpoint belongs to another machine or to other options",
                     "delete it, or repeat the options of the interrupted run");
  }
  return std::move(file.samples);
}

/// Writes the checkpoint, but not more often than every half second: a sample may take less.
class CheckpointWriter {
 public:
  CheckpointWriter(std::string path, std::string fingerprint)
      : path_(std::move(path)), fingerprint_(std::move(fingerprint)) {}
  Status save(const std::vector<Sample>& samples, bool force) {
    if (path_.empty() || (!force && now() - last_ < Seconds::from_base(0.5))) return {};
    last_ = now();
    return write_file_atomic(path_, write_samples({fingerprint_, samples}));
  }

 private:
  std::string path_, fingerprint_;
  Seconds last_;
};

std::string remaining_note(const Case& what, Seconds elapsed, double done_now, double to_do) {
  if (done_now <= 0) return describe(what);
  const double left = elapsed.base() / done_now * to_do;
  return fmt::format("{}; about {:.0f} s left", describe(what), std::ceil(left));
}

/// One sweep over the cases of a plan, with everything it needs to go on after an interruption.
class Sweep {
 public:
  Sweep(Device& device, const Plan& plan, const SweepOptions& options)
      : device_(device),
        plan_(plan),
        options_(options),
        ranks_(options.coordinator != nullptr ? *options.coordinator : alone_),
        writer_(options.checkpoint, fingerprint(device.description(), plan)),
        plausibility_(device.description()) {}

  Result<SweepResult> run() {
    ROOFTILE_TRY(const std::vector<Sample> earlier,
                 load_checkpoint(options_.checkpoint, fingerprint(device_.description(), plan_)));
    observe_clock();
    for (std::size_t i = 0; i < plan_.cases.size(); ++i) {
      const auto found = std::find_if(earlier.begin(), earlier.end(), [&](const Sample& s) {
        return s.what == plan_.cases[i] && !plausibility_.doubt(s);
      });
      if (found != earlier.end()) {
        result_.samples.push_back(*found);
        ++result_.resumed;
        continue;
      }
      const auto left = static_cast<double>(plan_.cases.size() - i);
      ROOFTILE_CHECK(report(plan_.cases[i], fraction(i), left));
      ROOFTILE_TRY(const auto sample, measure_truly(plan_.cases[i], paced(left)));
      measured_ += 1;
      if (sample) {
        result_.samples.push_back(sample->own);
        if (is_parallel()) result_.simultaneous.push_back(sample->slowest);
      }
      ROOFTILE_CHECK(writer_.save(result_.samples, false));
      if (now() - last_clock_ > kClockInterval) observe_clock();
    }
    ROOFTILE_CHECK(look_again());
    observe_clock();
    result_.clocks = plausibility_.observed();
    if (options_.progress) options_.progress({.fraction = 1.0, .note = "done"});
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool is_parallel() const { return options_.coordinator != nullptr; }
  [[nodiscard]] double fraction(std::size_t done) const {
    return static_cast<double>(done) / static_cast<double>(plan_.cases.size() + 1);
  }

  void observe_clock() {
    plausibility_.observe(device_.observe_clock());
    last_clock_ = now();
  }

  /// A sample that can be true, at the second attempt if not at the first; else nothing, and the
  /// omission is noted. All ranks agree, so that they have the same samples.
  Result<std::optional<Measured>> measure_truly(const Case& what, const Plan& plan) {
    const auto doubt = [this](const Measured& m) -> std::optional<std::string> {
      std::optional<std::string> own = plausibility_.doubt(m.own);
      const bool any = ranks_.largest(own ? 1.0 : 0.0) > 0.0;  // every rank must ask
      if (any && !own) return "it is not plausible on another rank";
      return own;
    };
    ROOFTILE_TRY(Measured first, measure(device_, what, plan, ranks_));
    if (!doubt(first)) return first;
    observe_clock();
    ROOFTILE_TRY(Measured again, measure(device_, what, plan, ranks_));
    observe_clock();
    const std::optional<std::string> reason = doubt(again);
    if (!reason) return again;
    result_.omissions.push_back({.what = what, .reason = *reason});
    return std::optional<Measured>{};
  }

  [[nodiscard]] Seconds time_left() const { return *plan_.limit - (now() - begin_); }

  /// The plan, or a shorter one of its cases where `left` of them would not end by the limit: fewer
  /// repetitions, which the intervals show. Several ranks keep to the plan: they must agree.
  [[nodiscard]] Plan paced(double left) const {
    constexpr std::int64_t kFewRepetitions = 5;
    Plan plan = plan_;
    if (!plan.limit || is_parallel()) return plan;
    const Seconds share = max(time_left() / left, Seconds::from_base(1e-4));
    if (share > (plan.stopping.budget + plan.warm_up) * 1.3) return plan;
    plan.stopping.budget = min(plan.stopping.budget, share * 0.6);
    plan.stopping.min_repetitions = std::min(plan.stopping.min_repetitions, kFewRepetitions);
    plan.warm_up = min(plan.warm_up, share * 0.2);
    plan.target_run = min(plan.target_run, share * 0.05);
    return plan;
  }

  /// Tells where we are; an error when someone asks to stop.
  Status report(const Case& what, double done, double left) {
    const ProgressState state{.fraction = done,
                              .note = remaining_note(what, now() - begin_, measured_, left)};
    const bool go_on = !options_.progress || options_.progress(state);
    if (ranks_.largest(go_on ? 0.0 : 1.0) == 0.0) return {};
    ROOFTILE_CHECK(writer_.save(result_.samples, true));
    std::string hint;
    if (!options_.checkpoint.empty()) {
      hint = fmt::format("{} of {} measurements are in {}; the same command continues from there",
                         result_.samples.size(), plan_.cases.size(), options_.checkpoint);
    }
    return bad_input("", kInterrupted, hint);
  }

  /// Repeats what did not converge while there is time; the faster of the two attempts stays,
  /// since a disturbance only ever slows down.
  Status look_again() {
    Seconds end = now() + plan_.second_look;
    if (plan_.limit && !is_parallel()) end = min(end, now() + time_left());
    for (int round = 0; round < 3; ++round) {
      for (std::size_t i = 0; i < result_.samples.size(); ++i) {
        // With several ranks the simultaneous samples decide: they are the same on all ranks.
        const bool resumed = is_parallel() && result_.resumed > 0;
        if (resumed || result_.samples[i].converged) continue;
        if (ranks_.largest(now() < end ? 0.0 : 1.0) > 0.0) return {};
        const Case what = result_.samples[i].what;
        ROOFTILE_CHECK(report(what, fraction(plan_.cases.size()), 1.0));
        ROOFTILE_TRY(const Measured again, measure(device_, what, plan_, ranks_));
        if (ranks_.largest(plausibility_.doubt(again.own) ? 1.0 : 0.0) > 0.0) continue;
        keep_faster(again.own, result_.samples[i]);
        if (is_parallel()) keep_faster(again.slowest, result_.simultaneous[i]);
      }
    }
    return {};
  }

  static void keep_faster(const Sample& again, Sample& earlier) {
    const bool converged = again.converged || earlier.converged;
    if (again.time.fast < earlier.time.fast) earlier = again;
    earlier.converged = converged;
  }

  SingleProcess alone_;
  Device& device_;
  const Plan& plan_;
  const SweepOptions& options_;
  Coordinator& ranks_;
  CheckpointWriter writer_;
  Plausibility plausibility_;
  SweepResult result_;
  Seconds begin_ = now(), last_clock_;
  double measured_ = 0;  ///< cases measured by this process, for the time left
};

}  // namespace

Result<SweepResult> run_sweep(Device& device, const Plan& plan, const SweepOptions& options) {
  return Sweep(device, plan, options).run();
}

}  // namespace rooftile::characterize
