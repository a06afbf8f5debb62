import Foundation
import Glibc

/// A server for HTTPS that answers by the path that is asked for, rightly and not.
package struct HTTPSServer: Sendable {
    package let process: ChildProcess
    package let port: UInt16

    private static let script = #"""
        import socket, ssl, sys, threading, time
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        keys = open(sys.argv[3], "rb").read()
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(16)
        print(listener.getsockname()[1], flush=True)
        def head(status, *lines):
            return ("\r\n".join(["HTTP/1.1 " + status, *lines]) + "\r\n\r\n").encode()
        def serve(plain):
            try:
                peer = context.wrap_socket(plain, server_side=True)
                path = peer.recv(65536).split(b" ")[1].decode()
                print(path, flush=True)
                if path == "/keys":
                    peer.sendall(head("200 OK", "Content-Length: %d" % len(keys)) + keys)
                elif path == "/moved":
                    peer.sendall(head("302 Found", "Location: /keys", "Content-Length: 0"))
                elif path == "/large":
                    peer.sendall(head("200 OK", "Content-Length: 10000000"))
                elif path == "/endless":
                    peer.sendall(head("200 OK"))
                    while True: peer.sendall(b" " * 65536)
                elif path == "/cut":
                    peer.sendall(head("200 OK", "Content-Length: 100") + b"short")
                elif path == "/silent":
                    time.sleep(600)
                else:
                    peer.sendall(head("404 Not Found", "Content-Length: 0"))
                peer.unwrap()
            except OSError: pass
            finally: plain.close()
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        """#

    /// Starts one.
    ///
    /// - Parameters:
    ///   - certificate: the file of its certificate.
    ///   - key: the file of the certificate's key.
    ///   - keys: the file that it serves at `/keys`.
    /// - Returns: nil if there is no Python.
    package static func start(certificate: String, key: String, keys: String) async throws -> HTTPSServer? {
        guard let process = try? ChildProcess("/usr/bin/env", ["python3", "-c", script, certificate, key, keys]) else {
            return nil
        }
        do {
            guard let port = UInt16(try await process.line()) else { throw Failure("no port") }
            return HTTPSServer(process: process, port: port)
        } catch {
            process.signal(SIGKILL)
            print("skipped: python3 does not serve HTTPS here: \(error)")
            return nil
        }
    }

    package func url(_ path: String) -> String { "https://127.0.0.1:\(port)\(path)" }

    package func stop() async throws {
        process.signal(SIGKILL)
        _ = try await process.finish()
    }
}
