// LIBSVM text, also called svmlight: a label, then index:value pairs, a row a line.
#pragma once

#include "pieces.hpp"

namespace sureline::text {

// Scalar is float or double. The block has fewer than 2^31 bytes.
template <class Scalar>
Chunk<Scalar> parse_libsvm(Pieces& block, const Options& options);

}  // namespace sureline::text
