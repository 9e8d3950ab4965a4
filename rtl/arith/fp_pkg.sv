// SPDX-License-Identifier: MIT
// The floating-point formats that the arithmetic is built and proven for.

package fp_pkg;

  /// Whether these are the widths of exponent and trailing significand of binary16, bfloat16 or binary32.
  function automatic bit is_format(int unsigned exp_bits, int unsigned man_bits);
    return (exp_bits == 5 && man_bits == 10) || (exp_bits == 8 && (man_bits == 7 || man_bits == 23));
  endfunction

  /// Whether a sum may have these widths: those of its elements, or a wider format, which has room for a
  /// guard bit and a sticky bit.
  function automatic bit is_sum_format(int unsigned exp_bits, int unsigned man_bits,
                                       int unsigned sum_exp_bits, int unsigned sum_man_bits);
    return is_format(sum_exp_bits, sum_man_bits) &&
           ((sum_exp_bits == exp_bits && sum_man_bits == man_bits) ||
            (sum_exp_bits >= exp_bits && sum_man_bits >= man_bits + 2));
  endfunction

endpackage
