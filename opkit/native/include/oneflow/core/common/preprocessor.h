#include "opkit/prelude.h"
