DROP TRIGGER runs_notification_guard ON runs_notification;
DROP FUNCTION runs_notification_guard();
DROP TRIGGER runs_waiting_guard ON runs_waitingstep;
DROP FUNCTION runs_waiting_guard();
