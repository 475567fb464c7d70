"""Operators of Paddle 2 that were translated with all sorts of wrong arguments and never ended a process."""

# What convolutional nets are made of, and what quantizes them.
_NAMES = """
abs affine_channel arg_max assign batch_norm bilinear_interp bilinear_interp_v2 cast clip concat conv2d
conv2d_transpose crf_decoding depthwise_conv2d depthwise_conv2d_transpose dequantize_linear dropout
elementwise_add elementwise_div elementwise_max elementwise_min elementwise_mul elementwise_pow
elementwise_sub elu equal exp expand_v2 fake_channel_wise_dequantize_max_abs
fake_channel_wise_quantize_abs_max fake_channel_wise_quantize_dequantize_abs_max fake_dequantize_max_abs
fake_quantize_abs_max fake_quantize_dequantize_abs_max fake_quantize_dequantize_moving_average_abs_max
fake_quantize_moving_average_abs_max fake_quantize_range_abs_max feed fetch fill_constant flatten2
flatten_contiguous_range floor gather gelu greater_than group_norm gru hard_shrink hard_sigmoid
hard_swish increment instance_norm layer_norm leaky_relu less_than log log_softmax logical_not
lookup_table lookup_table_v2 matmul matmul_v2 mean mish mul nearest_interp nearest_interp_v2 pad pad3d
pixel_shuffle pool2d pow prelu quantize_linear reduce_max reduce_mean reduce_sum relu relu6 reshape2
rsqrt scale shape sigmoid silu softmax softplus split sqrt square squeeze2 stack sum swish tanh tile
transpose2 unsqueeze2
"""
TRODDEN = frozenset(_NAMES.split())
