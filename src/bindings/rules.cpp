// The rules as functions of scalars. Parameters have the defaults of the structs.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <new>
#include <string>
#include <tuple>

#include "bindings.hpp"
#include "models.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline;
using namespace sureline::bindings;

namespace {

// A parameter: its name, and the member of the rule that it sets.
template <class R, class T>
struct Parameter {
  const char* name;
  T R::* member;
};
template <class R, class T>
Parameter<R, T> of(const char* name, T R::* member) {
  return {name, member};
}

template <class R, class... T>
R made(const std::tuple<Parameter<R, T>...>& parameters, const T&... values) {
  R rule;
  std::apply([&](const auto&... parameter) { ((rule.*parameter.member = values), ...); }, parameters);
  return rule;
}

template <class... Names>
nb::list names(Names... all) {
  nb::list list;
  (list.append(all), ...);
  return list;
}

Loss checked(Loss loss) {
  if (!has_steepness(loss)) refuse("loss must be hinge, squared_hinge or log.");
  return loss;
}

// A margin rule with these parameters, in this order.
template <class R, class... T>
void bind_rule(nb::module_& m, const char* name, Parameter<R, T>... parameters) {
  nb::class_<AnyRule<R>, Rule> type(m, name);
  type.attr("parameters") = names(parameters.name...);
  type.def(
      "__init__",
      [all = std::make_tuple(parameters...)](AnyRule<R>* self, T... values) {
        const R rule = made<R, T...>(all, values...);
        if constexpr (requires { rule.loss; }) checked(rule.loss);
        new (self) AnyRule<R>(rule);
      },
      (nb::arg(parameters.name) = R{}.*parameters.member)...);
}

// A coordinate rule likewise, its loss last.
template <class R, class... T>
void bind_coordinate_rule(nb::module_& m, const char* name, Loss loss, Parameter<R, T>... parameters) {
  nb::class_<AnyCoordinateRule<R>, CoordinateRule> type(m, name);
  type.attr("parameters") = names(parameters.name..., "loss");
  type.def(
      "__init__",
      [all = std::make_tuple(parameters...)](AnyCoordinateRule<R>* self, T... values, Loss loss_) {
        new (self) AnyCoordinateRule<R>(made<R, T...>(all, values...), checked(loss_));
      },
      (nb::arg(parameters.name) = R{}.*parameters.member)..., "loss"_a = loss);
}

void bind_enums(nb::module_& m) {
  nb::enum_<Loss>(m, "Loss", "A loss of the margin, or of the score and a target.")
      .value("hinge", Loss::hinge)
      .value("squared_hinge", Loss::squared_hinge)
      .value("log", Loss::log)
      .value("squared", Loss::squared)
      .value("absolute", Loss::absolute)
      .value("huber", Loss::huber);
  nb::enum_<rules::Schedule>(m, "Schedule", "Of a penalty in round t.")
      .value("constant", rules::Schedule::constant, "As it is.")
      .value("inverse", rules::Schedule::inverse, "Over t.")
      .value("linear", rules::Schedule::linear, "Times t.");
  nb::enum_<rules::OGD::Form>(m, "Form", "What the cost of a label does in OGD.")
      .value("slope", rules::OGD::Form::slope, "It multiplies the loss.")
      .value("margin", rules::OGD::Form::margin, "It is the margin that is asked for.");
  nb::enum_<rules::PA::Variant>(m, "PAVariant")
      .value("hard", rules::PA::Variant::hard)
      .value("I", rules::PA::Variant::I)
      .value("II", rules::PA::Variant::II);
  nb::enum_<rules::SCW::Variant>(m, "SCWVariant")
      .value("I", rules::SCW::Variant::I)
      .value("II", rules::SCW::Variant::II);
}

void bind_margin_rules(nb::module_& m) {
  nb::class_<Step>(m, "Step", "Coefficients of w <- kappa w + alpha y S x and S <- gamma (S - beta (S x)(S x)').")
      .def_ro("alpha", &Step::alpha)
      .def_ro("beta", &Step::beta)
      .def_ro("u", &Step::u, "x'Sx after the step, before gamma.")
      .def_ro("kappa", &Step::kappa)
      .def_ro("gamma", &Step::gamma)
      .def_ro("norm2", &Step::norm2, "|w|^2 after the step, from the rules that track it.")
      .def("__repr__", [](const Step& step) {
        return "Step(alpha=" + std::to_string(step.alpha) + ", beta=" + std::to_string(step.beta) +
               ", u=" + std::to_string(step.u) + ", kappa=" + std::to_string(step.kappa) +
               ", gamma=" + std::to_string(step.gamma) + ")";
      });
  nb::class_<Rule>(m, "Rule",
                   "A margin rule: from the margin and the variance of an example to the coefficients of the step.")
      .def("active", &Rule::active, "m"_a, "False if a margin m means no step, whatever the variance.")
      .def(
          "step",
          [](const Rule& rule, double m_, double v, double weight, double cost, double norm2, double k, double c,
             double t) {
            Memory memory;
            memory.norm2 = norm2, memory.k = k, memory.c = c, memory.t = t;
            return rule.active(m_) ? rule.step(m_, v, weight, cost, memory) : Step{};
          },
          "m"_a, "v"_a, nb::kw_only(), "weight"_a = 1.0, "cost"_a = 1.0, "norm2"_a = 0.0, "k"_a = 1.0, "c"_a = 0.1,
          "t"_a = 1.0,
          "The step for margin m and variance v. `cost` goes with the label (for PAUM it is the label's margin); "
          "norm2, k, c and t are what ROMMA, ALMA, FOFS, IELLIP and OGD remember.");

  using namespace rules;
  bind_rule<Perceptron>(m, "Perceptron");
  bind_rule(m, "PA", of("variant", &PA::variant), of("C", &PA::C));
  bind_rule(m, "ROMMA", of("aggressive", &ROMMA::aggressive));
  bind_rule(m, "ALMA", of("alpha", &ALMA::alpha), of("B", &ALMA::B), of("C", &ALMA::C));
  bind_rule(m, "FOFS", of("eta", &FOFS::eta), of("lam", &FOFS::lam));
  bind_rule<SOP>(m, "SOP");
  bind_rule(m, "IELLIP", of("b", &IELLIP::b));
  bind_rule(m, "AROW", of("r", &AROW::r));
  bind_rule(m, "AROWR", of("r", &AROWR::r));
  bind_rule(m, "NAROW", of("b", &NAROW::b));
  bind_rule(m, "NHERD", of("C", &NHERD::C));
  bind_rule(m, "SCW", of("variant", &SCW::variant), of("C", &SCW::C), of("phi", &SCW::phi));
  bind_rule(m, "OGD", of("eta", &OGD::eta), of("power_t", &OGD::p), of("loss", &OGD::loss), of("form", &OGD::form));
  bind_rule(m, "CPA", of("C", &CPA::C));
  bind_rule(m, "PAUM", of("eta", &PAUM::eta));
}

void bind_coordinate_rules(nb::module_& m) {
  using State = std::tuple<double, double, double, double, double, double, double>;
  nb::class_<Round>(m, "Round", "What all coordinates share in one round of a coordinate rule.")
      .def(
          "__init__",
          [](Round* self, double eta, double threshold, double scale, double delta, double limit, double r,
             double cut) { new (self) Round{eta, threshold, scale, delta, limit, r, cut}; },
          nb::kw_only(), "eta"_a = Round{}.eta, "threshold"_a = Round{}.threshold, "scale"_a = Round{}.scale,
          "delta"_a = Round{}.delta, "limit"_a = Round{}.limit, "r"_a = Round{}.r, "cut"_a = Round{}.cut)
      .def_ro("eta", &Round::eta)
      .def_ro("threshold", &Round::threshold)
      .def_ro("scale", &Round::scale)
      .def_ro("delta", &Round::delta)
      .def_ro("limit", &Round::limit)
      .def_ro("r", &Round::r)
      .def_ro("cut", &Round::cut, "By how much the round truncates.")
      .def("copy", [](const Round& round) { return Round(round); })
      .def("__getstate__",
           [](const Round& round) {
             return State{round.eta, round.threshold, round.scale, round.delta, round.limit, round.r, round.cut};
           })
      .def("__setstate__", [](Round& round, const State& state) {
        new (&round) Round;
        std::tie(round.eta, round.threshold, round.scale, round.delta, round.limit, round.r, round.cut) = state;
      });
  nb::class_<CoordinateRule>(m, "CoordinateRule", "A rule of the sparse online learning framework.")
      .def("round", &CoordinateRule::round, "t"_a, "cut"_a = 0.0,
           "What the prediction in round t goes by, and the step after it, if `cut` was cut in the rounds before.")
      .def_ro("shape", &CoordinateRule::shape);

  using namespace rules;
  bind_coordinate_rule(m, "FSOL", Loss::hinge, of("eta", &FSOL::eta), of("lam", &FSOL::lam),
                       of("schedule", &FSOL::schedule));
  nb::class_<AnyCoordinateRule<SSOL>, CoordinateRule> ssol(m, "SSOL");
  ssol.attr("parameters") = names("eta", "lam", "r", "schedule", "full", "loss");
  ssol.def(
      "__init__",
      [](AnyCoordinateRule<SSOL>* self, double eta, double lam, double r, Schedule schedule, bool full, Loss loss) {
        const Shape shape = full ? Shape::confident_full : Shape::confident;
        new (self) AnyCoordinateRule<SSOL>({eta, lam, r, schedule, shape}, checked(loss));
      },
      "eta"_a = SSOL{}.eta, "lam"_a = SSOL{}.lam, "r"_a = SSOL{}.r, "schedule"_a = SSOL{}.schedule, "full"_a = false,
      "loss"_a = Loss::hinge);
  bind_coordinate_rule(m, "RDA", Loss::hinge, of("gamma", &RDA::gamma), of("lam", &RDA::lam), of("rho", &RDA::rho));
  bind_coordinate_rule(m, "AdaRDA", Loss::hinge, of("eta", &AdaRDA::eta), of("lam", &AdaRDA::lam),
                       of("delta", &AdaRDA::delta));
  bind_coordinate_rule(m, "FTRL", Loss::log, of("alpha", &FTRL::alpha), of("beta", &FTRL::beta), of("l1", &FTRL::l1),
                       of("l2", &FTRL::l2));
  bind_coordinate_rule(m, "STG", Loss::hinge, of("eta", &STG::eta), of("lam", &STG::lam), of("K", &STG::K),
                       of("theta", &STG::theta));
  bind_coordinate_rule(m, "FOBOS", Loss::hinge, of("eta", &FOBOS::eta), of("lam", &FOBOS::lam));
  bind_coordinate_rule(m, "AdaFOBOS", Loss::hinge, of("eta", &AdaFOBOS::eta), of("lam", &AdaFOBOS::lam),
                       of("delta", &AdaFOBOS::delta));
}

}  // namespace

void bind_rules(nb::module_& m) {
  bind_enums(m);
  bind_margin_rules(m);
  bind_coordinate_rules(m);
}
