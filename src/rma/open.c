#include "rma/open.h"

#include "engine/engine.h"
#include "rma/combine.h"
#include "rma/failed.h"
#include "rma/near.h"
#include "rma/operation.h"
#include "rma/target.h"

void weft_rma_open(void)
{
    weft_win_open();
    weft_operations_open();
    weft_combine_open();
    weft_near_reset();
    weft_target_register_kinds();
    weft_engine_on_failed(weft_rma_fail_members);
}
