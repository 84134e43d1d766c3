DROP TRIGGER append_only_row ON checks_ledgerentry;
DROP TRIGGER append_only_truncate ON checks_ledgerentry;
DROP TABLE checks_reportreceipt, checks_report, checks_flip, checks_valuerollup;
DROP FUNCTION partitions_until();
DROP FUNCTION drop_partitions();
DROP FUNCTION ensure_partitions();
DROP FUNCTION checks_refuse_change();
DROP FUNCTION checks_partition_plan();
ALTER TABLE checks_nodeitemstate RESET
    (fillfactor, autovacuum_vacuum_scale_factor, autovacuum_vacuum_cost_limit);
ALTER TABLE checks_nodememory RESET
    (fillfactor, autovacuum_vacuum_scale_factor, autovacuum_vacuum_cost_limit);
ALTER TABLE checks_nodereadiness RESET
    (fillfactor, autovacuum_vacuum_scale_factor, autovacuum_vacuum_cost_limit);
