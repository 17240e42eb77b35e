-- Publish a rule set: workers work by it from their next range on.
create or replace function leases.publish_rules(rules jsonb)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
as $publish_rules$
declare
    _version bigint;
begin
    if publish_rules.rules is null then
        perform leases._refuse('the rule set makes no sense', 'Got null.', 'Give the rules as jsonb.');
    end if;
    lock table leases.rule_sets in share row exclusive mode;
    insert into leases.rule_sets as v (version, rules)
    select max(o.version) + 1, publish_rules.rules from leases.rule_sets as o
    returning v.version into _version;
    return _version;
end;
$publish_rules$;

comment on function leases.publish_rules(jsonb) is
'Makes these rules the current ones and returns their version, larger than every earlier one. Raises invalid_parameter_value (22023) for null.';

revoke all on function leases.publish_rules(jsonb) from public;
grant execute on function leases.publish_rules(jsonb) to leases_planner;
