package carillon.peers;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.net.URI;

/** A database, in the bench's form: postgres://user:password@host:port/name. */
record Database(String url) {
  HikariDataSource pool(int size) {
    URI uri = URI.create(url);
    String[] account = uri.getUserInfo().split(":", 2);
    HikariConfig config = new HikariConfig();
    // Sends batched inserts as one statement, as the driver recommends for bulk.
    config.setJdbcUrl(
        "jdbc:postgresql://%s:%d%s?reWriteBatchedInserts=true".formatted(uri.getHost(), uri.getPort(), uri.getPath()));
    config.setUsername(account[0]);
    config.setPassword(account[1]);
    config.setMaximumPoolSize(size);
    config.setMinimumIdle(1);
    return new HikariDataSource(config);
  }
}
