-- What a tool printed is never changed: the next run of it is a row of its own.
CREATE TRIGGER append_only_row BEFORE UPDATE OR DELETE ON checks_toolevidence
    FOR EACH ROW EXECUTE FUNCTION checks_refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON checks_toolevidence
    FOR EACH STATEMENT EXECUTE FUNCTION checks_refuse_change();
