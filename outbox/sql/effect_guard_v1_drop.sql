DROP TRIGGER outbox_effect_guard ON outbox_effect;
DROP FUNCTION outbox_effect_guard();
DROP FUNCTION outbox_effect_steps();
