/* What is checked, and how a rule is broken on purpose: -DBREAK=NAME, and -DALSO=NAME for a second one. */

#define CHECK(x, what) if :: (x) :: else -> printf(what); assert(false) fi

#define THE_PROMISE(x) CHECK(x, "broken: the promise\n")
#ifndef PROMISE_ONLY
#define RULE_H1(x) CHECK(x, "broken: H1\n")
#define RULE_P2(x) CHECK(x, "broken: P2\n")
#define RULE_P6(x) CHECK(x, "broken: P6\n")
#define RULE_S(x) CHECK(x, "broken: S\n")
#define RULE_S6(x) CHECK(x, "broken: S6\n")
#else
#define RULE_H1(x) skip
#define RULE_P2(x) skip
#define RULE_P6(x) skip
#define RULE_S(x) skip
#define RULE_S6(x) skip
#endif

#ifndef BREAK
#define BREAK NOTHING
#endif
#ifndef ALSO
#define ALSO NOTHING
#endif
#define BROKEN(x) (BREAK == x || ALSO == x)
#define NOTHING 0

/* Each is caught. The rule, and what is done in its place: */
#define NO_FENCE_NEXT_RANGE 1            /* H1: a lost lease is handed ranges */
#define NO_FENCE_HEARTBEAT 2             /* H1: a lost lease moves the resume point */
#define NO_FENCE_FINISH_RANGE 3          /* H1: a lost lease finishes the range in hand */
#define NO_FENCE_FAIL_RANGE 4            /* H1: a lost lease puts the range in hand down */
#define NO_FENCE_BEGIN_SNAPSHOT 5        /* H1: a lost lease begins a snapshot */
#define NO_FENCE_REJECT_SNAPSHOT 6       /* H1: a lost lease rejects the current snapshot */
#define NO_FENCE_RELEASE_GROUP 7         /* H1: a lost lease gives the holder's group back */
#define TAKEOVER_WITHOUT_SETTLING 8      /* C7: the lane is granted as its holder left it */
#define NEXT_HANDS_OUT_ANOTHER 9         /* N1: asking again hands out another range than the one in hand */
#define FINISH_WHATEVER_IS_IN_HAND 10    /* F2: finishing again finishes the range that came after */
#define NO_STANDING_POINT_IN_HAND 11     /* S1: the range in hand has no standing point */
#define NO_STANDING_POINT_PUT_DOWN 12    /* S1: a range that failed has none */
#define NO_STANDING_POINT_BEGUN 13       /* S1: a range begun under an earlier lease has none */
#define STANDING_RANGE_COUNTS_AS_DONE 14 /* S3: the range that the snapshot stands in is not read again */
#define SETTLED_BY_CLOCK 15              /* S1: a hand-out in the tick of the clock that the snapshot was begun in is before it */
#define COUNTER_NOTED_AT_COMMIT 16       /* S1: the counter is noted at the commit, not at the begin */
#define SETTLE_KEEPS_WHAT_IS_FINISHED 17 /* S3: ranges finished after the snapshot stay done */
#define SEAM_LOSES_WHAT_IS_FINISHED 18   /* S6: without a snapshot, what is finished is read again */
#define SEAM_LOSES_THE_RESUME_POINT 19   /* S6: without a snapshot, the range in hand is read again from its start */
#define FALLS_BACK_BY_ANOTHERS_COUNTER 20 /* P6: falling back uses the counter of the snapshot that was rejected */
#define FALLS_BACK_BY_ANOTHERS_POINTS 21 /* P6: falling back uses the standing points of the snapshot that was rejected */
#define TRIMMED_TO_THE_CURRENT 22        /* P6: the log is kept back to the current snapshot only */
#define REJECT_WHATEVER_IS_CURRENT 23    /* P6: rejecting again throws the next one away */
#define FAILS_WITHOUT_TELLING 24         /* F4: a worker fails a range without saying where its window stands */
#define RELOADS_WITHOUT_REJECTING 25     /* a worker loads its snapshot again in the middle of a lease */

/* Not caught alone, for each stands in for the others; caught together. */
#define NO_FENCE_COMMIT_SNAPSHOT 31      /* H1: a lost lease commits */
#define COMMITS_ANOTHER_LEASES 32        /* P4: a snapshot that another lease began is committed */
#define PENDING_OUTLIVES_ITS_LEASE 33    /* P5: a pending snapshot is not aborted when its lease ends */

/* Not a rule, but where the search must come to: -DREACH=NAME stops there. */
#ifndef REACH
#define REACH NOTHING
#endif
#define REACHED(x) CHECK(REACH != x, "reached\n")
#define THE_END 1                        /* all is read, and the window whole */
#define A_SEAM 2                         /* a new window begins where a lost one stood */
