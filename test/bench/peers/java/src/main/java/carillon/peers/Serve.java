package carillon.peers;

import com.zaxxer.hikari.HikariDataSource;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Instant;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** Answers each line of standard input with one line of JSON; see ../../../../../../npm/serve.ts for the commands. */
final class Serve {
  private static final int PROGRESS_MS = 20;

  private final Contender contender;
  private Ran ran;
  private Contender.Working working;
  private ScheduledExecutorService progress;
  private String watched;
  private HikariDataSource watch;

  private Serve(Contender contender) {
    this.contender = contender;
  }

  public static void main(String[] args) throws Exception {
    Contender contender =
        switch (args[0]) {
          case "db-scheduler" -> new DbSchedulerContender();
          case "quartz" -> new QuartzContender();
          default -> throw new IllegalArgumentException("There is no contender " + args[0] + ".");
        };
    Serve serve = new Serve(contender);
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      try {
        tell(serve.answer(line.split(" ")));
      } catch (Exception error) {
        error.printStackTrace();
        tell("{\"error\":\"%s\"}".formatted(String.valueOf(error).replaceAll("[\"\\\\\\p{Cntrl}]", " ")));
      }
    }
    System.exit(0);
  }

  private static synchronized void tell(String answer) {
    System.out.println(answer);
    System.out.flush();
  }

  private String answer(String[] words) throws Exception {
    Database database = new Database(words.length > 1 ? words[1] : "");
    switch (words[0]) {
      case "install":
        contender.install(database);
        return "{\"installed\":true}";
      case "store":
        long startedAt = System.nanoTime();
        long at = Long.parseLong(words[3]);
        contender.store(database, Integer.parseInt(words[2]), at == 0 ? Instant.now() : Instant.ofEpochMilli(at));
        return "{\"storedMs\":%d}".formatted((System.nanoTime() - startedAt) / 1_000_000);
      case "work":
        Ran begun = new Ran(Integer.parseInt(words[2]));
        ran = begun;
        working = contender.work(database, begun::note);
        progress = Executors.newSingleThreadScheduledExecutor();
        progress.scheduleAtFixedRate(() -> tellProgress(begun), PROGRESS_MS, PROGRESS_MS, TimeUnit.MILLISECONDS);
        return "{\"ready\":true}";
      case "forget":
        ran.forget();
        return "{\"did\":\"forget\"}";
      case "left":
        return "{\"left\":%b}".formatted(isLeft(database));
      case "stop":
        progress.shutdownNow();
        working.stop();
        return ran.told();
      default:
        throw new IllegalArgumentException("Nobody here knows what " + words[0] + " asks for.");
    }
  }

  private int told;

  private void tellProgress(Ran of) {
    int runs = of.runs();
    if (runs == told) return;
    told = runs;
    tell("{\"ran\":%d}".formatted(runs));
  }

  /** The connection is kept: the query runs every few milliseconds, and connecting would be most of its cost. */
  private boolean isLeft(Database database) throws Exception {
    if (!database.url().equals(watched)) {
      if (watch != null) watch.close();
      watch = database.pool(1);
      watched = database.url();
    }
    try (var connection = watch.getConnection();
        var statement = connection.createStatement();
        var rows = statement.executeQuery("select exists (" + contender.left() + ")")) {
      rows.next();
      return rows.getBoolean(1);
    }
  }
}
