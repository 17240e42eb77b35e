#define CHECK(x, what) if :: (x) :: else -> printf(what); assert(false) fi
#define THE_PROMISE(x) CHECK(x, "broken: the promise\n")
#define RULE_S6(x) CHECK(x, "broken: S6\n")
#define RULE_S(x) CHECK(x, "broken: S\n")
#define RULE_H1(x) CHECK(x, "broken: H1\n")
#define RULE_P6(x) CHECK(x, "broken: P6\n")
#define RULE_P2(x) CHECK(x, "broken: P2\n")
#define REACHED_END skip
#define KEEP_PENDING 0
#define STANDING_POINT(i, r) standing_point[i].next[r]
#define SETTLE_KEEPS_FINISHED 0
#define SEAM_LOSES_FINISHED 0
#define SEAM_LOSES_RESUME_POINT 0
#define BEFORE_FALL_BACK(i) skip
#define BEFORE_COMMIT(i) skip
#define NEXT_WHATEVER 0
#define CLOCK_STANDS_STILL 0
#define FINISH_WHATEVER 0
#define DROP_STANDING_POINT 0
#define DROP_PUT_DOWN 0
#define DROP_RESUME_POINT 0
#define REJECT_WHATEVER 0
#define FENCE_NEXT 1
#define FENCE_HEARTBEAT 1
#define FENCE_FINISH 1
#define FENCE_FAIL 1
#define FENCE_BEGIN 1
#define FENCE_COMMIT 1
#define FENCE_REJECT 1
#define FENCE_RELEASE 1
