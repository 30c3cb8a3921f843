// All of the kernel language, as it is compiled in advance.
#pragma once

#include "opkit/framework.h"
#include "opkit/kernel_util.h"
#include "opkit/ndarray.h"
