package carillon.peers;

import java.util.Arrays;
import java.util.Base64;

/** The jobs that ran, how often, and the times of the first and the last. */
final class Ran {
  private final byte[] seen;
  private int runs;
  private long firstAt;
  private long lastAt;

  Ran(int count) {
    seen = new byte[(count + 7) / 8];
  }

  synchronized void note(int job) {
    if (job < 0 || job >> 3 >= seen.length) throw new IllegalArgumentException("Nobody has stored a job " + job + ".");
    seen[job >> 3] |= (byte) (1 << (job & 7));
    lastAt = System.currentTimeMillis();
    if (runs == 0) firstAt = lastAt;
    runs++;
  }

  /** The runs until now were warm-up. */
  synchronized void forget() {
    Arrays.fill(seen, (byte) 0);
    runs = 0;
  }

  synchronized int runs() {
    return runs;
  }

  synchronized String told() {
    return "{\"stopped\":{\"runs\":%d,\"firstAt\":%d,\"lastAt\":%d,\"seen\":\"%s\"}}"
        .formatted(runs, firstAt, lastAt, Base64.getEncoder().encodeToString(seen));
  }
}
