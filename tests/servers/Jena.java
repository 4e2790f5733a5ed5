import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import org.apache.jena.query.*;
import org.apache.jena.rdf.model.Model;
import org.apache.jena.riot.*;
import org.apache.jena.riot.resultset.ResultSetLang;
import org.apache.jena.shared.JenaException;
import org.apache.jena.sparql.resultset.ResultsFormat;
import org.apache.jena.update.*;

/** Apache Jena's engine in memory behind an HTTP server, for tests: query, update, graph store. */
public class Jena {
  private static final Dataset DATA = DatasetFactory.createTxnMem();

  public static void main(String[] arguments) throws Exception {
    HttpServer server =
        HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 0);
    server.createContext("/query", exchange -> answer(exchange, Jena::query));
    server.createContext("/update", exchange -> answer(exchange, Jena::update));
    server.createContext("/data", exchange -> answer(exchange, Jena::load));
    server.setExecutor(Executors.newFixedThreadPool(4));
    server.start();
    System.out.println("Listening");
  }

  private interface Handler {
    byte[] answer(HttpExchange exchange, Map<String, String> fields, byte[] body);
  }

  private static void answer(HttpExchange exchange, Handler handler) {
    int status = 200;
    byte[] answer;
    try (exchange) {
      byte[] body = exchange.getRequestBody().readAllBytes();
      Map<String, String> fields = new HashMap<>();
      fields(fields, exchange.getRequestURI().getRawQuery());
      String type = String.valueOf(exchange.getRequestHeaders().getFirst("Content-Type"));
      if (type.startsWith("application/x-www-form-urlencoded")) {
        fields(fields, new String(body, StandardCharsets.UTF_8));
      }
      try {
        answer = handler.answer(exchange, fields, body);
      } catch (JenaException error) {
        status = 400;
        exchange.getResponseHeaders().set("Content-Type", "text/plain;charset=utf-8");
        answer = String.valueOf(error.getMessage()).getBytes(StandardCharsets.UTF_8);
      }
      exchange.getResponseHeaders().set("Server", "Apache Jena");
      exchange.sendResponseHeaders(status, answer.length == 0 ? -1 : answer.length);
      exchange.getResponseBody().write(answer);
    } catch (Exception error) {
      error.printStackTrace();
    }
  }

  private static void fields(Map<String, String> fields, String text) {
    for (String pair : text == null ? new String[0] : text.split("&")) {
      String[] parts = pair.split("=", 2);
      String value = parts.length > 1 ? parts[1] : "";
      fields.put(parts[0], URLDecoder.decode(value, StandardCharsets.UTF_8));
    }
  }

  private static byte[] query(HttpExchange exchange, Map<String, String> fields, byte[] body) {
    String accept = String.valueOf(exchange.getRequestHeaders().getFirst("Accept"));
    Query query = QueryFactory.create(fields.get("query"));
    DATA.begin(ReadWrite.READ);
    try (QueryExecution execution = QueryExecutionFactory.create(query, DATA)) {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      String type;
      if (query.isConstructType()) {
        type = "application/n-triples";
        RDFDataMgr.write(out, execution.execConstruct(), Lang.NTRIPLES);
      } else {
        Lang lang =
            accept.contains("csv")
                ? ResultSetLang.RS_CSV
                : accept.contains("xml") ? ResultSetLang.RS_XML : ResultSetLang.RS_JSON;
        type = lang.getContentType().getContentTypeStr();
        if (query.isAskType()) {
          ResultSetFormatter.output(out, execution.execAsk(), lang);
        } else {
          ResultSetFormatter.output(out, execution.execSelect(), lang);
        }
      }
      exchange.getResponseHeaders().set("Content-Type", type);
      return out.toByteArray();
    } finally {
      DATA.end();
    }
  }

  private static byte[] update(HttpExchange exchange, Map<String, String> fields, byte[] body) {
    String text = fields.getOrDefault("update", new String(body, StandardCharsets.UTF_8));
    UpdateRequest request = UpdateFactory.create(text);
    write(() -> UpdateExecutionFactory.create(request, DATA).execute());
    return new byte[0];
  }

  private static byte[] load(HttpExchange exchange, Map<String, String> fields, byte[] body) {
    write(
        () -> {
          Model model =
              fields.containsKey("default")
                  ? DATA.getDefaultModel()
                  : DATA.getNamedModel(fields.get("graph"));
          RDFParser.create()
              .fromString(new String(body, StandardCharsets.UTF_8))
              .lang(Lang.NTRIPLES)
              .errorHandler(org.apache.jena.riot.system.ErrorHandlerFactory.errorHandlerNoLogging)
              .parse(model);
        });
    return new byte[0];
  }

  private static void write(Runnable change) {
    DATA.begin(ReadWrite.WRITE);
    try {
      change.run();
      DATA.commit();
    } finally {
      DATA.end();
    }
  }
}
