package carillon.peers;

import java.io.InputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Date;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.function.IntConsumer;
import org.quartz.Job;
import org.quartz.JobBuilder;
import org.quartz.JobDetail;
import org.quartz.JobExecutionContext;
import org.quartz.Scheduler;
import org.quartz.SchedulerException;
import org.quartz.Trigger;
import org.quartz.TriggerBuilder;
import org.quartz.impl.StdSchedulerFactory;

/** Quartz with its JDBC store, clustered, acquiring triggers in batches, with one trigger per job. */
final class QuartzContender implements Contender {
  private static final int PORTION = 1_000;
  private static final int THREADS = 20;
  private static volatile IntConsumer ran = job -> {};

  /** Quartz creates one instance for each run. */
  public static final class Noop implements Job {
    @Override
    public void execute(JobExecutionContext context) {
      ran.accept(Integer.parseInt(context.getTrigger().getKey().getName()));
    }
  }

  @Override
  public void install(Database database) throws Exception {
    try (InputStream tables =
            StdSchedulerFactory.class.getResourceAsStream("/org/quartz/impl/jdbcjobstore/tables_postgres.sql");
        var pool = database.pool(1);
        var connection = pool.getConnection();
        var statement = connection.createStatement()) {
      statement.execute(new String(tables.readAllBytes(), StandardCharsets.UTF_8));
    }
  }

  @Override
  public void store(Database database, int count, Instant at) throws Exception {
    Scheduler scheduler = scheduler(database, 1);
    for (int from = 0; from < count; from += PORTION) {
      JobDetail job = JobBuilder.newJob(Noop.class).withIdentity("noop-" + from).build();
      Set<Trigger> triggers = new java.util.HashSet<>();
      for (int n = from; n < Math.min(count, from + PORTION); n++)
        triggers.add(
            TriggerBuilder.newTrigger().withIdentity(String.valueOf(n)).forJob(job).startAt(Date.from(at)).build());
      Map<JobDetail, Set<? extends Trigger>> portion = new HashMap<>();
      portion.put(job, triggers);
      scheduler.scheduleJobs(portion, false);
    }
    scheduler.shutdown(true);
  }

  @Override
  public Working work(Database database, IntConsumer told) throws Exception {
    ran = told;
    Scheduler scheduler = scheduler(database, THREADS);
    scheduler.start();
    return () -> scheduler.shutdown(true);
  }

  @Override
  public String left() {
    return "select from qrtz_triggers";
  }

  private static Scheduler scheduler(Database database, int threads) throws SchedulerException {
    URI uri = URI.create(database.url());
    String[] account = uri.getUserInfo().split(":", 2);
    Properties p = new Properties();
    p.setProperty("org.quartz.scheduler.instanceName", "bench");
    p.setProperty("org.quartz.scheduler.instanceId", "AUTO");
    p.setProperty("org.quartz.scheduler.skipUpdateCheck", "true");
    p.setProperty("org.quartz.threadPool.threadCount", String.valueOf(threads));
    // A batch has as many triggers as there are threads, due within a second of the first.
    p.setProperty("org.quartz.scheduler.batchTriggerAcquisitionMaxCount", String.valueOf(threads));
    p.setProperty("org.quartz.scheduler.batchTriggerAcquisitionFireAheadTimeWindow", "1000");
    p.setProperty("org.quartz.scheduler.idleWaitTime", "1000");
    p.setProperty("org.quartz.jobStore.class", "org.quartz.impl.jdbcjobstore.JobStoreTX");
    p.setProperty("org.quartz.jobStore.driverDelegateClass", "org.quartz.impl.jdbcjobstore.PostgreSQLDelegate");
    p.setProperty("org.quartz.jobStore.isClustered", "true");
    p.setProperty("org.quartz.jobStore.acquireTriggersWithinLock", "true");
    // A trigger that waits among many must not count as misfired.
    p.setProperty("org.quartz.jobStore.misfireThreshold", "3600000");
    p.setProperty("org.quartz.jobStore.dataSource", "bench");
    p.setProperty("org.quartz.dataSource.bench.provider", "hikaricp");
    p.setProperty("org.quartz.dataSource.bench.driver", "org.postgresql.Driver");
    p.setProperty(
        "org.quartz.dataSource.bench.URL",
        "jdbc:postgresql://%s:%d%s?reWriteBatchedInserts=true".formatted(uri.getHost(), uri.getPort(), uri.getPath()));
    p.setProperty("org.quartz.dataSource.bench.user", account[0]);
    p.setProperty("org.quartz.dataSource.bench.password", account[1]);
    p.setProperty("org.quartz.dataSource.bench.maxConnections", String.valueOf(threads + 5));
    return new StdSchedulerFactory(p).getScheduler();
  }
}
