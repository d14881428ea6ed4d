package carillon.peers;

import com.github.kagkarlsson.scheduler.Scheduler;
import com.github.kagkarlsson.scheduler.SchedulerClient;
import com.github.kagkarlsson.scheduler.task.TaskInstance;
import com.github.kagkarlsson.scheduler.task.helper.OneTimeTask;
import com.github.kagkarlsson.scheduler.task.helper.Tasks;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntConsumer;

/** db-scheduler with lock-and-fetch, configured as on its page about performance: one process, 50 threads, fetching from half to four times as many jobs. */
final class DbSchedulerContender implements Contender {
  private static final int PORTION = 5_000;
  private static final int THREADS = 50;
  private static final int POOL = 20;

  @Override
  public void install(Database database) throws Exception {
    try (var pool = database.pool(1);
        var connection = pool.getConnection();
        var statement = connection.createStatement()) {
      // The table and the indexes of its README for Postgres.
      statement.execute(
          """
          create table scheduled_tasks (
            task_name text not null, task_instance text not null, task_data bytea,
            execution_time timestamp with time zone not null, picked boolean not null, picked_by text,
            last_success timestamp with time zone, last_failure timestamp with time zone, consecutive_failures int,
            last_heartbeat timestamp with time zone, version bigint not null, priority smallint,
            primary key (task_name, task_instance));
          create index execution_time_idx on scheduled_tasks (execution_time);
          create index last_heartbeat_idx on scheduled_tasks (last_heartbeat)""");
    }
  }

  private static OneTimeTask<Void> task(IntConsumer ran) {
    return Tasks.oneTime("noop").execute((instance, context) -> ran.accept(Integer.parseInt(instance.getId())));
  }

  @Override
  public void store(Database database, int count, Instant at) {
    OneTimeTask<Void> task = task(job -> {});
    try (var pool = database.pool(1)) {
      SchedulerClient client = SchedulerClient.Builder.create(pool, task).build();
      for (int from = 0; from < count; from += PORTION) {
        List<TaskInstance<?>> jobs = new ArrayList<>();
        for (int n = from; n < Math.min(count, from + PORTION); n++) jobs.add(task.instance(String.valueOf(n)));
        client.scheduleBatch(jobs, at);
      }
    }
  }

  @Override
  public Working work(Database database, IntConsumer ran) {
    var pool = database.pool(POOL);
    Scheduler scheduler =
        Scheduler.create(pool, task(ran))
            .threads(THREADS)
            .pollUsingLockAndFetch(0.5, 4.0)
            .pollingInterval(Duration.ofMillis(100))
            .build();
    scheduler.start();
    return () -> {
      scheduler.stop();
      pool.close();
    };
  }

  @Override
  public String left() {
    return "select from scheduled_tasks";
  }
}
