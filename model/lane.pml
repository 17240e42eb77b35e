/* One lane of one group: its holder, those who held it before and go on calling, and what the database keeps of it.

   Checked over all interleavings: the window that is handed from holder to holder, with what its last holder then
   reads, holds every article exactly once, in order, since the last seam; and a lost lease changes nothing. Names such
   as S3 are the contract's rules. docs/model.md says how to run it, what it leaves out, and what was found.

   A call is one step, as it locks the lane's row first. Its answer may be lost: the database has changed, and the worker
   does not know. There is no bound on leases, snapshots, calls and lost answers: what nobody can ask for any more is
   forgotten, so the states are finite. The bounds: */

#ifndef RANGES
#define RANGES 3        /* planned one after the other, while workers work */
#endif
#ifndef SIZE
#define SIZE 2          /* articles in each */
#endif
#ifndef KEEP
#define KEEP 2          /* keep_snapshots */
#endif

#define ARTICLES (RANGES * SIZE)
#define SLOTS (KEEP + 1)                /* snapshots kept or pending at a time */
#define GONE (SLOTS + 1)                /* a snapshot that was and is neither any more */
#define NONE 255
#define FRESH 254                       /* a window with nothing in it yet: a seam */
#define DROPPED 253                     /* a window given up, and no other one loaded yet */

#define START(r) ((r) * SIZE)
#define END(r) (((r) + 1) * SIZE)       /* one past its last article */
#define BEGUN(r) (point[r] > START(r) && point[r] < END(r))
#define BIT(r) (1 << (r))
#define STANDS_IN(i, r) (BROKEN(STANDING_RANGE_COUNTS_AS_DONE) && r == standing[i] / SIZE && standing[i] % SIZE != 0)
#define IN(set, r) (((set) >> (r)) & 1)
#define WITHOUT(set, r) ((set) & (255 - BIT(r)))

#include "breaks.h"

/* The database. ---------------------------------------------------------------------------------------------------- */

/* leases.ranges: what stands if the window were lost now. Done is a range whose resume point is its end. */
byte planned;                           /* ranges planned so far */
byte point[RANGES];
byte mine;                              /* set: done by the current lease (done_by) */

/* leases.progress, its newest row: */
bit leased;                             /* the lane has a holder */
byte hand = NONE;                       /* the range in hand */
byte hand_next;
/* Of the rows before it, what is asked: what was finished after live_after, and what was in hand or finished since a
   snapshot was begun. So the counter of S1 needs no number here. */
byte finished;                          /* set */
#ifdef TRACE
/* Of these, the ones that failed with nothing left: failing again is then no error. No worker goes by that, so it is kept
   out of the states that are searched. */
byte failed_at_end;
#define IN_TRACE(does) does
#else
#define IN_TRACE(does) skip
#endif
byte put_down[RANGES];                  /* where the window stands in a range that failed, or NONE */

/* leases.snapshots, the oldest first, from 1; and leases.standing_points. */
mtype = { unused, pending, kept }
mtype status[SLOTS + 2] = unused;
bit own[SLOTS + 2];                     /* begun under the current lease */
byte standing[SLOTS + 2];               /* next_id; and the window in the file, all up to there */
byte in_hand_since[SLOTS + 2];          /* set */
byte finished_since[SLOTS + 2];         /* set, of the pending one */
typedef points { byte next[RANGES] }
points standing_point[SLOTS + 2];       /* or NONE */

/* Not in the database: where the lane has to stand once it is settled, by what was called alone. */
byte told;

/* The holder. ------------------------------------------------------------------------------------------------------ */

bit alive;                              /* the process that has the current lease */
byte window;                            /* the next article: it has all before, in order, back to its seam */
byte reads = NONE;                      /* the range that it reads */
byte loaded;                            /* the snapshot that its window came from, until it begins one itself */
byte writes;                            /* the snapshot that it writes */

/* With -DLATE=a set of the kinds below: one call of the holder's at a time is on its way still while the holder, who
   thinks its answer lost, goes on. Once its lease has ended it is one of the lost. */
#define NEXT_RANGE 1
#define HEARTBEAT 2
#define FINISH_RANGE 4
#define FAIL_RANGE 8
#define BEGIN_SNAPSHOT 16
#define COMMIT_SNAPSHOT 32
#define REJECT_SNAPSHOT 64
#ifndef LATE
#define LATE 0
#endif
byte late, late_argument;

/* Used within a step only. */
bit lost, folds, same_tick, refused;
byte r, s, n, current, answer, argument;

/* With -DTRACE, a random walk that says where each step leaves the lane: tests/model plays it on the database. In it,
   what ends a lease is rare. */
#ifdef TRACE
short steps;
#define SELDOM(often) (steps % often == 0)
#else
#define SELDOM(often) true
#endif

inline tell() {
#ifdef TRACE
    steps++;
    printf("= refused %d planned %d leased %d hand %d ranges", refused, planned, leased, hand);
    for (r : 0 .. RANGES - 1) {
        if
        :: r >= planned
        :: r < planned && r == hand -> printf(" %d", hand_next)
        :: r < planned && r != hand && IN(finished, r) -> printf(" %d", END(r))
        :: r < planned && r != hand && !IN(finished, r) && put_down[r] != NONE -> printf(" %d", put_down[r])
        :: r < planned && r != hand && !IN(finished, r) && put_down[r] == NONE -> printf(" %d", point[r])
        fi
    }
    printf(" snapshots");
    for (s : 1 .. SLOTS) {
        if
        :: status[s] == kept -> printf(" kept %d", standing[s])
        :: status[s] == pending -> printf(" pending %d", standing[s])
        :: else
        fi
    }
    printf("\n")
#else
    skip
#endif
}

inline tidy() {
    tell();
    lost = 0; folds = 0; same_tick = 0; refused = 0; r = 0; s = 0; n = 0; current = 0; answer = 0; argument = 0
}

/* The project's internal functions. -------------------------------------------------------------------------------- */

/* _current: the last one committed that was not found unusable. */
inline find_current() {
    current = 0;
    for (s : 1 .. SLOTS) {
        if
        :: status[s] == kept -> current = s
        :: else
        fi
    }
}

/* The rules S, said in one line: done below that article, not begun above it. */
inline check_settled() {
    for (r : 0 .. RANGES - 1) {
        if
        :: r >= planned || told <= START(r) -> RULE_S(point[r] == START(r))
        :: r < planned && told > START(r) && told < END(r) -> RULE_S(point[r] == told)
        :: r < planned && told >= END(r) -> RULE_S(point[r] == END(r))
        fi
    }
}

/* _fold: what was finished is done from now on. */
inline fold(set) {
    for (r : 0 .. RANGES - 1) {
        if
        :: IN(set, r) -> point[r] = END(r); mine = mine | BIT(r)
        :: else
        fi
    }
}

/* _cover: S2 what was finished before the snapshot was begun is done. S3 what was in hand since, or has a standing point
   in it, stands there, or at its start. S5 all else stays. */
inline cover(i, before) {
    fold(before);
    for (r : 0 .. RANGES - 1) {
        if
        :: STANDS_IN(i, r) -> point[r] = END(r)
        :: !STANDS_IN(i, r) && standing_point[i].next[r] != NONE -> point[r] = standing_point[i].next[r]
        :: !STANDS_IN(i, r) && standing_point[i].next[r] == NONE && IN(in_hand_since[i], r) -> point[r] = START(r)
        :: else
        fi;
        if
        :: point[r] < END(r) -> mine = WITHOUT(mine, r)
        :: else
        fi
    }
}

/* A snapshot becomes stale or aborted. The younger ones move up. */
inline end_snapshot(i) {
    for (s : i .. SLOTS) {
        status[s] = status[s + 1]; own[s] = own[s + 1]; standing[s] = standing[s + 1];
        in_hand_since[s] = in_hand_since[s + 1]; finished_since[s] = finished_since[s + 1];
        for (r : 0 .. RANGES - 1) { standing_point[s].next[r] = standing_point[s + 1].next[r] }
    }
    moved(writes, i);
    moved(loaded, i);
    if
    :: late == COMMIT_SNAPSHOT || late == REJECT_SNAPSHOT -> moved(late_argument, i)
    :: else
    fi
}

inline moved(which, i) {
    if
    :: which == i -> which = GONE
    :: which > i && which != GONE -> which = which - 1
    :: else
    fi
}

/* P4, P5: the pending one goes where a lease ends or another one is begun. */
inline abort_pending() {
    n = 0;
    for (s : 1 .. SLOTS) {
        if
        :: status[s] == pending -> n = s
        :: else
        fi
    }
    if
    :: n != 0 -> end_snapshot(n)
    :: else
    fi
}

/* _settle. With a snapshot the ranges stand as it covers them, and the log is forgotten. S6 without one: what is done
   stays done; the range in hand and those put down stand where the window was told to stand. */
inline settle() {
    if
    :: BROKEN(PENDING_OUTLIVES_ITS_LEASE)
    :: else -> abort_pending()
    fi;
    find_current();
    if
    :: current != 0 ->
        told = standing[current];
        if
        :: BROKEN(SETTLE_KEEPS_WHAT_IS_FINISHED) -> fold(finished)
        :: else
        fi
    :: current == 0 ->
        if
        :: BROKEN(SEAM_LOSES_WHAT_IS_FINISHED)
        :: else -> fold(finished)
        fi;
        for (r : 0 .. RANGES - 1) {
            if
            :: put_down[r] != NONE && point[r] < END(r) -> point[r] = put_down[r]
            :: else
            fi
        }
        if
        :: hand != NONE && !BROKEN(SEAM_LOSES_THE_RESUME_POINT) -> point[hand] = hand_next
        :: else
        fi
    fi;
    hand = NONE; hand_next = 0; finished = 0; IN_TRACE(failed_at_end = 0);
    for (r : 0 .. RANGES - 1) { put_down[r] = NONE }
}

/* _fall_back: P6, by the one kept before, with its own counter and its own standing points. */
inline fall_back(i) {
    if
    :: i > 1 && BROKEN(FALLS_BACK_BY_ANOTHERS_COUNTER) -> in_hand_since[i - 1] = in_hand_since[i]
    :: i > 1 && BROKEN(FALLS_BACK_BY_ANOTHERS_POINTS) ->
        for (r : 0 .. RANGES - 1) { standing_point[i - 1].next[r] = standing_point[i].next[r] }
    :: else
    fi;
    end_snapshot(i);
    settle();
    find_current();
    if
    :: current != 0 -> cover(current, 0); told = standing[current]
    :: else
    fi;
    check_settled()
}

/* _let_go: whoever holds the lane has lost it, and is one of the lost from now on. */
inline let_go() {
    leased = 0; mine = 0;
    for (s : 1 .. SLOTS) { own[s] = 0 }
    late = 0; late_argument = 0;
    leave()
}

/* The functions of the contract. `who` is HOLDER or LOST. ---------------------------------------------------------- */

#define HOLDER 1
#define LOST 0
/* H1: a lost lease changes nothing. */
#define CHANGES(who) RULE_H1(who == HOLDER)

/* next_range: N1 the range in hand, else the lowest that is offered. answer: the range. */
inline next_range(who) {
    answer = NONE;
    if
    :: hand == NONE || BROKEN(NEXT_HANDS_OUT_ANOTHER) ->
        CHANGES(who);
        find_current();
        if
        :: folds && current == 0 -> fold(finished); finished = 0; IN_TRACE(failed_at_end = 0) /* _fold_log */
        :: else
        fi;
        answer = hand;
        hand = NONE; hand_next = 0;
        for (r : 0 .. RANGES - 1) {
            if
            :: hand == NONE && r < planned && point[r] < END(r) && !IN(finished, r) && r != answer -> hand = r
            :: else
            fi
        }
        if
        :: hand != NONE ->
            if
            :: put_down[hand] != NONE -> hand_next = put_down[hand]
            :: else -> hand_next = point[hand]
            fi;
            put_down[hand] = NONE;
            for (s : 1 .. SLOTS) { /* S1: the counter grows */
                if
                :: status[s] != unused && !same_tick -> in_hand_since[s] = in_hand_since[s] | BIT(hand)
                :: else
                fi
            }
        :: else
        fi
    :: else
    fi;
    answer = hand
}

/* finish_range: F1 the range in hand. F2 again, it changes nothing; any other is refused. */
inline finish_range(who, i) {
    if
    :: hand != NONE && (hand == i || BROKEN(FINISH_WHATEVER_IS_IN_HAND)) ->
        CHANGES(who);
        finished = finished | BIT(hand);
        told = END(hand);
        for (s : 1 .. SLOTS) {
            if
            :: status[s] == pending -> finished_since[s] = finished_since[s] | BIT(hand)
            :: else
            fi
        }
        hand = NONE; hand_next = 0
    :: else -> refused = !IN(finished, i) && !IN(mine, i)
    fi
}

/* heartbeat(next_id): F3 forward, and within the range in hand. */
inline heartbeat(who, i) {
    if
    :: hand == NONE || i < hand_next || i > END(hand) -> refused = 1
    :: else ->
        if
        :: i != hand_next -> CHANGES(who); hand_next = i; told = i
        :: else
        fi
    fi
}

/* fail_range: F4 planned again at its resume point; done where nothing is left. Again, it changes nothing. */
inline fail_range(who, i) {
    if
    :: hand == i && hand_next == END(i) -> finish_range(who, i); IN_TRACE(failed_at_end = failed_at_end | BIT(i))
    :: hand == i && hand_next < END(i) ->
        CHANGES(who);
        put_down[i] = hand_next;
        find_current();
        if
        :: current == 0 -> point[i] = hand_next
        :: else
        fi;
        hand = NONE; hand_next = 0
    :: else -> IN_TRACE(refused = (put_down[i] == NONE && !IN(failed_at_end, i)))
    fi
}

/* P2: in the range in hand; with none, where no range is cut, or at a resume point. */
inline check_standing(i) {
    if
    :: hand != NONE -> refused = (i < START(hand) || i > END(hand))
    :: hand == NONE && i % SIZE != 0 ->
        r = i / SIZE;
        if
        :: put_down[r] != NONE -> refused = (put_down[r] != i)
        :: else -> refused = (r < planned && (IN(finished, r) || point[r] != i))
        fi
    :: else
    fi
}

/* begin_snapshot: S1 the counter and the standing points. P4 aborts an earlier one. answer: its number. */
inline begin_snapshot(who, i) {
    check_standing(i);
    if
    :: refused
    :: else ->
        CHANGES(who);
        abort_pending();
        answer = 1;
        for (s : 1 .. SLOTS) {
            if
            :: status[s] != unused -> answer = s + 1
            :: else
            fi
        }
        status[answer] = pending; own[answer] = (who == HOLDER); standing[answer] = i;
        for (r : 0 .. RANGES - 1) {
            standing_point[answer].next[r] = NONE;
            if
            :: r == hand && !BROKEN(NO_STANDING_POINT_IN_HAND) -> standing_point[answer].next[r] = i
            :: r != hand && put_down[r] != NONE && !BROKEN(NO_STANDING_POINT_PUT_DOWN) -> standing_point[answer].next[r] = put_down[r]
            :: r != hand && put_down[r] == NONE && BEGUN(r) && !IN(finished, r) && !BROKEN(NO_STANDING_POINT_BEGUN) ->
                standing_point[answer].next[r] = point[r]
            :: else
            fi
        }
        if
        :: hand != NONE && i > hand_next -> hand_next = i; told = i
        :: else
        fi
    fi
}

/* commit_snapshot: P1 it becomes current. P4 another lease's is refused; again, it changes nothing. P6 the last KEEP stay. */
#define OWN(who, i) (own[i] == (who == HOLDER) || BROKEN(COMMITS_ANOTHER_LEASES))
inline commit_snapshot(who, i) {
    if
    :: i == GONE || !OWN(who, i) -> refused = 1
    :: i != GONE && OWN(who, i) && status[i] == pending ->
        CHANGES(who);
        if
        :: BROKEN(COUNTER_NOTED_AT_COMMIT) -> finished_since[i] = 0; in_hand_since[i] = 0
        :: i > 1 && BROKEN(TRIMMED_TO_THE_CURRENT) -> in_hand_since[i - 1] = in_hand_since[i]
        :: else
        fi;
        status[i] = kept;
        cover(i, finished & (255 - finished_since[i]));
        finished = finished_since[i];
        IN_TRACE(failed_at_end = failed_at_end & finished);
        finished_since[i] = 0;
        n = 0;
        for (s : 1 .. SLOTS) {
            if
            :: status[s] == kept -> n++
            :: else
            fi
        }
        if
        :: n > KEEP -> end_snapshot(1)
        :: else
        fi
    :: else
    fi
}

/* reject_snapshot: P6; again, it throws nothing more away. answer: what is current then. */
inline reject_snapshot(who, i) {
    find_current();
    if
    :: current != 0 && (current == i || BROKEN(REJECT_WHATEVER_IS_CURRENT)) ->
        CHANGES(who);
        RULE_P6(current == i);
        fall_back(current)
    :: else
    fi;
    find_current();
    answer = current
}

/* release_group: R1. end_lease, and C8, do the same. */
inline release_group(who) { CHANGES(who); settle(); check_settled(); let_go() }

/* lease_group: C2 a lane that is free, or whose holder is quiet (which it may be at any time here), and that has something
   to offer when settled; C7; C8. answer: whether it was granted. */
inline lease_group() {
    if
    :: leased && !BROKEN(TAKEOVER_WITHOUT_SETTLING) -> release_group(HOLDER)
    :: leased && BROKEN(TAKEOVER_WITHOUT_SETTLING) -> let_go()
    :: else
    fi;
    answer = 0;
    for (r : 0 .. RANGES - 1) {
        if
        :: r < planned && point[r] < END(r) -> answer = 1
        :: else
        fi
    }
    leased = answer
}

/* The holder: one process after the other. ------------------------------------------------------------------------- */

inline leave() { alive = 0; window = 0; reads = NONE; loaded = 0; writes = 0 }

/* The window in that snapshot's file, or an empty one. */
inline load(i) {
    reads = NONE; loaded = i; writes = 0;
    if
    :: i != 0 -> window = standing[i]
    :: else -> window = FRESH
    fi
}

/* What next_range gave. The promise: it goes on where the window ends, until all is read. */
inline take() {
    reads = answer;
    if
    :: answer != NONE && window != FRESH -> THE_PROMISE(hand_next == window)
    :: answer != NONE && window == FRESH -> RULE_S6(hand_next == told); window = hand_next; if :: told > 0 -> REACHED(A_SEAM) :: else fi
    :: answer == NONE && window != FRESH -> THE_PROMISE(window == END(planned - 1)); REACHED(THE_END)
    :: answer == NONE && window == FRESH -> RULE_S6(told == END(planned - 1))
    fi
}

/* For the reader of a sequence. */
#define SAY(what) \
    printf("holder (window %d, reads %d, loaded %d, writes %d): ", window, reads, loaded, writes); \
    if :: lost -> printf(what); printf(", answer lost\n") :: else -> printf(what); printf("\n") fi

#define DELAYS(kind, with) late = kind; late_argument = with; printf("  the call is late\n")
#define CALLS(what, call) answered_or_not(); d_step { SAY(what); call; tidy() }
inline answered_or_not() {
    if
    :: lost = 0
    :: lost = 1
    fi
}
#define IF_ANSWERED(does) if :: !lost -> does :: else fi

#define MAY_DELAY(kind) ((LATE & kind) && late == 0)
#define WORKS (alive && window != DROPPED)
#define AT_END (WORKS && reads != NONE && window == END(reads))

proctype holder() {
end: do
    :: d_step { planned > 0 && !alive -> /* lease_group by any node: C1, C2, C7 */
        printf("lease_group\n");
        lease_group();
        if
        :: leased -> alive = 1; find_current(); load(current)
        :: else
        fi;
        tidy() }

    :: atomic { WORKS && reads == NONE ->
        if
        :: folds = 0
        :: finished != 0 -> folds = 1
        fi;
        if
        :: same_tick = 0
        :: BROKEN(SETTLED_BY_CLOCK) -> same_tick = 1 /* as the last snapshot was begun in */
        fi;
        CALLS("next_range", next_range(HOLDER); IF_ANSWERED(take())) }

    :: d_step { WORKS && reads != NONE && window < END(reads) -> SAY("reads an article");
        window = window + 1;
        if
        :: LATE -> loaded = 0 /* it has read its file to the end before */
        :: else
        fi;
        tidy() }

    :: atomic { WORKS && reads != NONE ->
        CALLS("heartbeat", heartbeat(HOLDER, window); IF_ANSWERED(if :: refused -> reads = NONE :: else fi)) }

    :: atomic { AT_END -> CALLS("finish_range", finish_range(HOLDER, reads); IF_ANSWERED(reads = NONE)) }

    :: atomic { AT_END ->
        CALLS("finish_and_next",
            finish_range(HOLDER, reads);
            if
            :: refused -> IF_ANSWERED(reads = NONE)
            :: else -> next_range(HOLDER); IF_ANSWERED(take())
            fi) }

    :: atomic { WORKS && reads != NONE -> /* F4: it tells first where its window stands, and reads no more of the range */
        CALLS("heartbeat and fail_range",
            if
            :: BROKEN(FAILS_WITHOUT_TELLING)
            :: else -> heartbeat(HOLDER, window)
            fi;
            if
            :: refused
            :: else -> fail_range(HOLDER, reads)
            fi;
            reads = NONE) }
    :: atomic { WORKS && reads == NONE && window < ARTICLES -> CALLS("fail_range", fail_range(HOLDER, window / SIZE)) }

    :: atomic { WORKS && window != FRESH -> /* standing where the window ends */
        CALLS("begin_snapshot",
            begin_snapshot(HOLDER, window); RULE_P2(!refused); loaded = 0; IF_ANSWERED(writes = answer)) }
    :: atomic { WORKS && writes != 0 -> CALLS("commit_snapshot", commit_snapshot(HOLDER, writes); IF_ANSWERED(writes = 0)) }

    :: d_step { WORKS && loaded != 0 -> SAY("finds its file unusable"); window = DROPPED; reads = NONE; tidy() }
    :: atomic { window == DROPPED -> CALLS("reject_snapshot", reject_snapshot(HOLDER, loaded); IF_ANSWERED(load(answer))) }

    :: d_step { alive && SELDOM(16) -> SAY("is killed"); leave(); tidy() }

    :: d_step { MAY_DELAY(NEXT_RANGE) && WORKS && reads == NONE -> SAY("next_range"); DELAYS(NEXT_RANGE, 0) }
    :: d_step { MAY_DELAY(HEARTBEAT) && WORKS && reads != NONE -> SAY("heartbeat"); DELAYS(HEARTBEAT, window) }
    :: d_step { MAY_DELAY(FINISH_RANGE) && AT_END -> SAY("finish_range"); DELAYS(FINISH_RANGE, reads) }
    :: d_step { MAY_DELAY(FAIL_RANGE) && WORKS && reads != NONE -> SAY("heartbeat and fail_range");
        heartbeat(HOLDER, window);
        if
        :: refused
        :: else -> DELAYS(FAIL_RANGE, reads)
        fi;
        reads = NONE; tidy() }
    :: d_step { MAY_DELAY(BEGIN_SNAPSHOT) && WORKS && window != FRESH -> SAY("begin_snapshot");
        DELAYS(BEGIN_SNAPSHOT, window); loaded = 0 }
    :: d_step { MAY_DELAY(COMMIT_SNAPSHOT) && WORKS && writes != 0 -> SAY("commit_snapshot"); DELAYS(COMMIT_SNAPSHOT, writes) }
    :: d_step { MAY_DELAY(REJECT_SNAPSHOT) && window == DROPPED -> SAY("reject_snapshot"); DELAYS(REJECT_SNAPSHOT, loaded) }

    :: d_step { BROKEN(RELOADS_WITHOUT_REJECTING) && alive && status[1] == kept && window != DROPPED -> SAY("loads its snapshot again"); find_current(); load(current); tidy() }
    od
}

/* The lost: any lease but the current one, in any call, with any arguments, at any time. */
#define ANY(from, to) select (r : from .. to)
#define LOST_CALLS(unfenced, what, call) \
    d_step { argument = r; r = 0; \
        if :: BROKEN(unfenced) -> printf("a lost lease: "); printf(what); printf(" %d\n", argument); call \
        :: else -> refused = 1 \
        fi; tidy() }

proctype lost_ones() {
end: do
    :: atomic { LOST_CALLS(NO_FENCE_NEXT_RANGE, "next_range", next_range(LOST)) }
    :: atomic { ANY(0, ARTICLES); LOST_CALLS(NO_FENCE_HEARTBEAT, "heartbeat", heartbeat(LOST, argument)) }
    :: atomic { ANY(0, RANGES - 1); LOST_CALLS(NO_FENCE_FINISH_RANGE, "finish_range", finish_range(LOST, argument)) }
    :: atomic { ANY(0, RANGES - 1); LOST_CALLS(NO_FENCE_FAIL_RANGE, "fail_range", fail_range(LOST, argument)) }
    :: atomic { ANY(0, ARTICLES); LOST_CALLS(NO_FENCE_BEGIN_SNAPSHOT, "begin_snapshot", begin_snapshot(LOST, argument)) }
    :: atomic { ANY(1, SLOTS); LOST_CALLS(NO_FENCE_COMMIT_SNAPSHOT, "commit_snapshot", commit_snapshot(LOST, argument)) }
    :: atomic { ANY(1, SLOTS); LOST_CALLS(NO_FENCE_REJECT_SNAPSHOT, "reject_snapshot", reject_snapshot(LOST, argument)) }
    :: atomic { LOST_CALLS(NO_FENCE_RELEASE_GROUP, "release_group", release_group(LOST)) }
    od
}

/* What was late is done. */
#define DELIVERS(kind, call) d_step { late == kind -> printf("the late call is done: %d %d\n", late, late_argument); \
    argument = late_argument; late = 0; late_argument = 0; call; tidy() }

proctype network() {
end: do
    :: DELIVERS(NEXT_RANGE, next_range(HOLDER))
    :: DELIVERS(HEARTBEAT, heartbeat(HOLDER, argument))
    :: DELIVERS(FINISH_RANGE, finish_range(HOLDER, argument))
    :: DELIVERS(FAIL_RANGE, fail_range(HOLDER, argument))
    :: DELIVERS(BEGIN_SNAPSHOT, begin_snapshot(HOLDER, argument))
    :: DELIVERS(COMMIT_SNAPSHOT, commit_snapshot(HOLDER, argument))
    :: DELIVERS(REJECT_SNAPSHOT, reject_snapshot(HOLDER, argument))
    od
}

/* A planner (L1, in rising order) and an administrator. */
proctype others() {
end: do
#ifdef TRACE
    :: steps++
#endif
    :: d_step { planned < RANGES && SELDOM(4) -> printf("plan_ranges\n"); planned++; tidy() }
    :: d_step { leased && SELDOM(16) -> printf("end_lease\n"); release_group(HOLDER); tidy() }
    :: d_step { status[1] == kept && SELDOM(16) -> printf("discard_snapshot\n"); find_current(); fall_back(current); let_go(); tidy() }
    od
}

init {
    d_step {
        for (r : 0 .. RANGES - 1) { point[r] = START(r); put_down[r] = NONE }
        tidy()
    }
    atomic {
        run holder(); run others();
#ifndef TRACE
        run lost_ones(); run network()
#endif
    }
}
