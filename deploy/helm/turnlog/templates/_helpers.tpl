{{/* The prefix of all names, and of the nodes' ids. A pod's name, and so a node's id, has 63 characters at most. */}}
{{- define "turnlog.name" -}}
{{- if contains "turnlog" .Release.Name }}{{ .Release.Name | trunc 45 | trimSuffix "-" }}
{{- else }}{{ printf "%s-turnlog" (.Release.Name | trunc 37 | trimSuffix "-") }}{{ end }}
{{- end }}

{{- define "turnlog.selector" -}}
app.kubernetes.io/name: turnlog
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "turnlog.labels" -}}
{{ include "turnlog.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* Behind a pod's name: its host name in the headless service. */}}
{{- define "turnlog.domain" -}}
{{ include "turnlog.name" . }}-nodes.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}
{{- end }}

{{/* The nodes with which the cluster begins. It stays the same on every start. */}}
{{- define "turnlog.initialCluster" -}}
{{- $name := include "turnlog.name" . }}
{{- range $i := until (int .Values.nodes) }}{{ if $i }},{{ end }}
{{- $name }}-{{ $i }}={{ $name }}-{{ $i }}.{{ include "turnlog.domain" $ }}:7381
{{- end }}
{{- end }}

{{/* Where the commands of kubectl exec find the nodes. */}}
{{- define "turnlog.addresses" -}}
{{- $name := include "turnlog.name" . }}
{{- range $i := until (int .Values.nodes) }}{{ if $i }},{{ end }}
{{- $name }}-{{ $i }}.{{ include "turnlog.domain" $ }}:7379
{{- end }}
{{- end }}

{{- define "turnlog.check" -}}
{{- $secure := and .Values.tls.secretName .Values.users.secretName .Values.nodeTLS.secretName }}
{{- if not (or .Values.insecure $secure) }}
{{- fail "set tls.secretName, users.secretName and nodeTLS.secretName; or insecure=true, where the network itself is protected" }}
{{- end }}
{{- $old := lookup "apps/v1" "StatefulSet" .Release.Namespace (include "turnlog.name" .) }}
{{- if and $old (ne (int $old.spec.replicas) (int .Values.nodes)) }}
{{- fail (printf "nodes is %d, and the cluster began with %d: members are added with learners and `turnlog cluster join`, and removed with `turnlog cluster remove`" (int .Values.nodes) (int $old.spec.replicas)) }}
{{- end }}
{{- end }}

{{/* A StatefulSet of nodes: dict "root" "name" "replicas" "join". */}}
{{- define "turnlog.statefulset" -}}
{{- $root := .root }}
{{- $v := $root.Values }}
{{- $scheme := ternary "HTTPS" "HTTP" (ne $v.tls.secretName "") }}
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ .name }}
  labels:
    {{- include "turnlog.labels" $root | nindent 4 }}
spec:
  replicas: {{ .replicas }}
  serviceName: {{ include "turnlog.name" $root }}-nodes
  # The first start needs a majority at once. Updates go one by one all the same, each when the node before is ready.
  podManagementPolicy: Parallel
  updateStrategy: {type: RollingUpdate}
  minReadySeconds: 5
  revisionHistoryLimit: 5
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain, whenScaled: Retain}
  selector:
    matchLabels:
      {{- include "turnlog.selector" $root | nindent 6 }}
      turnlog.io/set: {{ .name }}
  template:
    metadata:
      labels:
        {{- with $v.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- include "turnlog.labels" $root | nindent 8 }}
        turnlog.io/set: {{ .name }}
      {{- with $v.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "turnlog.name" $root }}
      automountServiceAccountToken: false
      enableServiceLinks: false # its variables would begin with TURNLOG_
      terminationGracePeriodSeconds: {{ $v.stopSeconds }}
      {{- with $v.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $v.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- with $v.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $v.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- if kindIs "invalid" $v.affinity }}
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 100
              podAffinityTerm:
                topologyKey: kubernetes.io/hostname
                labelSelector:
                  matchLabels:
                    {{- include "turnlog.selector" $root | nindent 20 }}
      {{- else }}
      {{- with $v.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- end }}
      topologySpreadConstraints:
      {{- if kindIs "invalid" $v.topologySpreadConstraints }}
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "turnlog.selector" $root | nindent 14 }}
      {{- else }}
        {{- toYaml $v.topologySpreadConstraints | nindent 8 }}
      {{- end }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        fsGroupChangePolicy: OnRootMismatch
        seccompProfile: {type: RuntimeDefault}
      containers:
        - name: turnlog
          image: {{ printf "%s:%s" $v.image.repository ($v.image.tag | default (printf "v%s" $root.Chart.AppVersion)) | quote }}
          imagePullPolicy: {{ $v.image.pullPolicy }}
          args: [serve]
          env:
            - name: POD_NAME
              valueFrom: {fieldRef: {fieldPath: metadata.name}}
            - {name: TURNLOG_NODE_ID, value: $(POD_NAME)}
            - {name: TURNLOG_DATA_DIR, value: /data/node}
            - {name: TURNLOG_RESP_ADDR, value: ":7379"}
            - {name: TURNLOG_HTTP_ADDR, value: ":7380"}
            - {name: TURNLOG_RAFT_ADDR, value: ":7381"}
            - {name: TURNLOG_RESP_ADVERTISE, value: {{ printf "$(POD_NAME).%s:7379" (include "turnlog.domain" $root) }}}
            - {name: TURNLOG_HTTP_ADVERTISE, value: {{ printf "$(POD_NAME).%s:7380" (include "turnlog.domain" $root) }}}
            - {name: TURNLOG_RAFT_ADVERTISE, value: {{ printf "$(POD_NAME).%s:7381" (include "turnlog.domain" $root) }}}
            {{- if .join }}
            - {name: TURNLOG_JOIN, value: "true"}
            {{- else }}
            - name: TURNLOG_INITIAL_CLUSTER
              value: {{ include "turnlog.initialCluster" $root | quote }}
            {{- end }}
            # For kubectl exec POD -- /turnlog …
            - name: TURNLOG_ADDR
              value: {{ include "turnlog.addresses" $root | quote }}
            {{- if $v.insecure }}
            - {name: TURNLOG_INSECURE, value: "true"}
            - name: TURNLOG_HTTP_HOSTS
              value: {{ printf "%s,%s.%s,%s.%s.svc,%s.%s.svc.%s" (include "turnlog.name" $root) (include "turnlog.name" $root) $root.Release.Namespace (include "turnlog.name" $root) $root.Release.Namespace (include "turnlog.name" $root) $root.Release.Namespace $v.clusterDomain }}
            {{- end }}
            {{- if $v.tls.secretName }}
            - {name: TURNLOG_TLS_CERT, value: /secrets/tls/tls.crt}
            - {name: TURNLOG_TLS_KEY, value: /secrets/tls/tls.key}
            - {name: TURNLOG_TLS_CA, value: /secrets/tls/ca.crt}
            {{- end }}
            {{- if $v.users.secretName }}
            - {name: TURNLOG_USERS_FILE, value: /secrets/users/users.yaml}
            {{- end }}
            {{- if $v.nodeTLS.secretName }}
            - {name: TURNLOG_NODE_TLS_CERT, value: /secrets/node-tls/tls.crt}
            - {name: TURNLOG_NODE_TLS_KEY, value: /secrets/node-tls/tls.key}
            - {name: TURNLOG_NODE_TLS_CA, value: /secrets/node-tls/ca.crt}
            {{- end }}
            {{- if $v.clusterSecret.secretName }}
            - {name: TURNLOG_CLUSTER_SECRET_FILE, value: /secrets/cluster/cluster.secret}
            {{- end }}
            {{- if $v.openMetrics }}
            - {name: TURNLOG_OPEN_METRICS, value: "true"}
            {{- end }}
            {{- range $name, $value := $v.settings }}
            - {name: {{ $name }}, value: {{ $value | toString | quote }}}
            {{- end }}
          ports:
            - {name: resp, containerPort: 7379}
            - {name: http, containerPort: 7380}
            - {name: raft, containerPort: 7381}
          startupProbe:
            httpGet: {path: /livez, port: http, scheme: {{ $scheme }}}
            periodSeconds: 5
            failureThreshold: {{ div $v.startSeconds 5 }}
          livenessProbe:
            httpGet: {path: /livez, port: http, scheme: {{ $scheme }}}
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet: {path: /readyz, port: http, scheme: {{ $scheme }}}
            periodSeconds: 2
            timeoutSeconds: 2
            failureThreshold: 2
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL]}
          resources:
            {{- toYaml $v.resources | nindent 12 }}
          volumeMounts:
            - {name: data, mountPath: /data}
            {{- if $v.tls.secretName }}
            - {name: tls, mountPath: /secrets/tls, readOnly: true}
            {{- end }}
            {{- if $v.users.secretName }}
            - {name: users, mountPath: /secrets/users, readOnly: true}
            {{- end }}
            {{- if $v.nodeTLS.secretName }}
            - {name: node-tls, mountPath: /secrets/node-tls, readOnly: true}
            {{- end }}
            {{- if $v.clusterSecret.secretName }}
            - {name: cluster, mountPath: /secrets/cluster, readOnly: true}
            {{- end }}
      volumes:
        {{- if $v.tls.secretName }}
        - name: tls
          secret: {secretName: {{ $v.tls.secretName }}, defaultMode: 0440}
        {{- end }}
        {{- if $v.users.secretName }}
        - name: users
          secret: {secretName: {{ $v.users.secretName }}, defaultMode: 0440}
        {{- end }}
        {{- if $v.nodeTLS.secretName }}
        - name: node-tls
          secret: {secretName: {{ $v.nodeTLS.secretName }}, defaultMode: 0440}
        {{- end }}
        {{- if $v.clusterSecret.secretName }}
        - name: cluster
          secret: {secretName: {{ $v.clusterSecret.secretName }}, defaultMode: 0440}
        {{- end }}
  volumeClaimTemplates:
    - metadata:
        name: data
        labels:
          {{- include "turnlog.selector" $root | nindent 10 }}
      spec:
        accessModes:
          {{- toYaml $v.storage.accessModes | nindent 10 }}
        {{- with $v.storage.storageClassName }}
        storageClassName: {{ . }}
        {{- end }}
        resources: {requests: {storage: {{ $v.storage.size }}}}
{{- end }}
