#pragma once
#include "opkit/prelude.h"
